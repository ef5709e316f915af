import { z } from "zod";
import { inOrder } from "../kv/in-order";
import { namespacesByTitle } from "../kv/listing";
import { namespacePath, namespacesPath } from "../kv/address";
import { KV } from "../limits";
import { jobsPath } from "../logpush/job-api";
import { entryPointOf, readEntryPoint, rulesetsPath } from "../rulesets/entry-point";
import { rulesetsOf } from "../rulesets/managed";
import type { Account, Cell, ListedAccount, NamespaceKeys } from "./model";
import { deploymentsOf } from "./read-deployments";
import { readJobs } from "./read-zone";
import { COMPLETE, type Reader } from "./cells";
import { omitAbsent } from "../basics/json";
import { isNotReadable, isReadable, mapCell } from "./readable";

/** Reads an account: its rulesets and deployments, its own Logpush jobs, and its namespaces. */
export async function readAccount(reading: Reader, listed: ListedAccount): Promise<Account> {
  const { host, cells } = reading;
  const { id } = listed;
  const path = rulesetsPath({ kind: "account", id });
  const [found, jobs, byTitle] = await Promise.all([
    cells.read(path, () => collected(rulesetsOf(host.api, id, COMPLETE))),
    cells.read(jobsPath({ kind: "account", id }), () => readJobs(host, { kind: "account", id })),
    cells.read(namespacesPath(id), () => namespacesByTitle(host.api, id, COMPLETE)),
  ]);
  const namespaces = isNotReadable(byTitle)
    ? byTitle
    : await collected(
        inOrder(byTitle, AT_ONCE, async ({ id: namespaceId, title, jurisdiction }) => ({
          id: namespaceId,
          title,
          ...omitAbsent({ jurisdiction }),
          keys: await countKeys(reading, namespacePath({ accountId: id, namespaceId })),
        })),
      );
  const rulesets = mapCell(found, (all) =>
    all.map(({ id, name, kind, phase, version }) => ({ id, name, kind, phase, version })),
  );
  // The list and the entry point take the same permission.
  const entry = isReadable(rulesets)
    ? await cells.read(path, () => readEntryPoint(host, entryPointOf({ accountId: id })))
    : rulesets;
  const deployments = isReadable(entry) ? await deploymentsOf(reading, id, { id, rulesets }, entry) : entry;
  return { ...listed, rulesets, deployments, jobs, namespaces };
}

/** How many namespaces are read at the same time. */
const AT_ONCE = 4;

/** Counts a namespace's keys, up to one page. */
function countKeys({ host, cells }: Reader, namespace: string): Promise<Cell<NamespaceKeys>> {
  return cells.read(`${namespace}/keys`, async () => {
    const { records, unread, resultInfo } = await host.api.list(`${namespace}/keys`, {
      what: `Listing the keys of namespace ${namespace}`,
      record: z.looseObject({ name: z.string() }),
      query: { limit: KV.MAX_KEYS_PER_PAGE },
    });
    const cursor = resultInfo?.cursor ?? resultInfo?.cursors?.after ?? "";
    return { count: records.length + unread.length, more: cursor !== "" };
  });
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
