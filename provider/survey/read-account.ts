import { z } from "zod";
import type { List } from "../api/client";
import { unlessAbsent } from "../api/errors";
import { namespacesByTitle } from "../kv/listing";
import { namespacePath, namespacesPath } from "../kv/address";
import { KV } from "../limits";
import { jobsPath } from "../logpush/job-api";
import { accountRulesetsPath, rulesetsOf } from "../rulesets/managed";
import { entryPoint, PHASE } from "../rulesets/wire";
import type { AccountFacts, Cell, ListedAccount, NamespaceKeys } from "./model";
import { deploymentsOf } from "./read-deployments";
import { readJobs } from "./read-zone";
import { COMPLETE, type Reader } from "./cells";
import { omitAbsent } from "../basics/json";
import { isReadable, mapCell } from "./readable";

/** Reads an account: its rulesets and deployments, its own Logpush jobs, and the list of its namespaces. */
export async function readAccount(reading: Reader, listed: ListedAccount): Promise<AccountFacts> {
  const { host, cells } = reading;
  const { id } = listed;
  const cell = <T>(path: string, read: () => Promise<T>): Promise<Cell<T>> => cells.read(path, id, read);
  const rulesetsPath = accountRulesetsPath(id);
  const [found, jobs, byTitle] = await Promise.all([
    cell(rulesetsPath, () => collected(rulesetsOf(host.api, id, COMPLETE))),
    cell(jobsPath({ kind: "account", id }), () => readJobs(host, { kind: "account", id })),
    cell(namespacesPath(id), () => namespacesByTitle(host.api, id, COMPLETE)),
  ]);
  const namespaces = mapCell(byTitle, (all) =>
    all.map(({ id, title, jurisdiction }) => ({ id, title, ...omitAbsent({ jurisdiction }) })),
  );
  const rulesets = mapCell(found, (all) =>
    all.map(({ id, name, kind, phase, version }) => ({ id, name, kind, phase, version })),
  );
  // The list and the entry point take the same permission.
  const entry = isReadable(rulesets)
    ? await cell(rulesetsPath, () =>
        unlessAbsent(() =>
          host.api.get(`${rulesetsPath}/phases/${PHASE}/entrypoint`, {
            what: `Reading the managed rules of account ${id}`,
            schema: entryPoint,
          }),
        ),
      )
    : rulesets;
  const deployments = isReadable(entry) ? await deploymentsOf(reading, id, { id, rulesets }, entry) : entry;
  return { ...listed, rulesets, deployments, jobs, namespaces };
}

/** The maximum number of pages to read. A page of keys may be empty even if there are more keys. */
const MAX_KEY_PAGES = 10;

/** Counts a namespace's keys, up to one page. For most namespaces, that takes one request. */
export function countKeys(
  { host, cells }: Reader,
  accountId: string,
  namespaceId: string,
): Promise<NamespaceKeys> {
  const path = `${namespacePath({ accountId, namespaceId })}/keys`;
  return cells.read(path, accountId, async () => {
    let count = 0;
    let cursor: string | undefined;
    for (let page = 1; page <= MAX_KEY_PAGES; page += 1) {
      const { records, unread, resultInfo }: List<unknown> = await host.api.list(path, {
        what: `Listing the keys of namespace ${namespaceId}`,
        record: z.looseObject({ name: z.string() }),
        query: { limit: KV.MAX_KEYS_PER_PAGE, cursor },
      });
      count += records.length + unread.length;
      cursor = resultInfo?.cursor ?? resultInfo?.cursors?.after ?? undefined;
      if (cursor === undefined || cursor === "") return { count, more: false };
      if (count > 0) break;
    }
    return { count, more: true };
  });
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
