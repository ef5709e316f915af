import { z } from "zod";
import type { List } from "../api/client";
import { byCursor } from "../api/pages";
import { listNamespacesOf } from "../kv/listing";
import { namespacePath, namespacesPath } from "../kv/address";
import { KV, MANAGED_RULES } from "../limits";
import { jobsPath } from "../logpush/job-api";
import { rulesetInfo } from "../rulesets/wire";
import type { Account, Cell, ListedAccount } from "./model";
import { readJobs, type Reading } from "./read-zone";
import { isReadable } from "./readable";
import { stackOf, unmanagedInAccount } from "./stacks";

/** Reads an account: its rulesets, its own Logpush jobs, and its namespaces with the number of their keys. */
export async function readAccount(reading: Reading, { id, name, zones }: ListedAccount): Promise<Account> {
  const { host, cells, stacks } = reading;
  const { api } = host;
  const cell = <T>(path: string, read: () => Promise<T>): Promise<Cell<T>> => cells.read(path, id, read);
  const rulesetsPath = `/accounts/${id}/rulesets`;
  const [rulesets, jobs, listed] = await Promise.all([
    cell(rulesetsPath, () =>
      collected(
        byCursor(api, rulesetsPath, {
          what: `Listing the rulesets of account ${id}`,
          record: rulesetInfo,
          perPage: MANAGED_RULES.MAX_RULESETS_PER_PAGE,
          key: (each) => each.id,
        }),
      ),
    ),
    cell(jobsPath({ kind: "account", id }), () => readJobs(reading, { kind: "account", id })),
    cell(namespacesPath(id), () => collected(listNamespacesOf(api, id, namespace))),
  ]);
  const account = {
    id,
    ...(name === undefined ? {} : { name }),
    zones,
    rulesets: isReadable(rulesets)
      ? rulesets.map(({ id: rulesetId, name, kind, phase, version }) => ({
          id: rulesetId,
          name,
          kind,
          phase,
          version,
        }))
      : rulesets,
    jobs,
    namespaces: isReadable(listed)
      ? await Promise.all(
          listed.map(async ({ id: namespaceId, title }) => ({
            id: namespaceId,
            title,
            keys: await cell(`${namespacesPath(id)}/${namespaceId}/keys`, () =>
              countKeys(reading, id, namespaceId),
            ),
            ...stackOf(stacks, ["KvNamespace", namespaceId], ["WorkersKvNamespace", namespaceId]),
          })),
        )
      : listed,
  };
  return stacks === undefined ? account : { ...account, unmanaged: unmanagedInAccount(account) };
}

const namespace = z.looseObject({ id: z.string(), title: z.string() });

/** A page of keys may be empty even though more follow. */
const MAX_KEY_PAGES = 10;

/** Counts up to one page of keys, which takes one request for most namespaces. */
async function countKeys(
  { host }: Reading,
  accountId: string,
  namespaceId: string,
): Promise<{ count: number; more: boolean }> {
  let count = 0;
  let cursor: string | undefined;
  for (let page = 1; page <= MAX_KEY_PAGES; page += 1) {
    const { records, unread, resultInfo }: List<unknown> = await host.api.list(
      `${namespacePath({ accountId, namespaceId })}/keys`,
      {
        what: `Listing the keys of namespace ${namespaceId}`,
        record: z.looseObject({ name: z.string() }),
        query: { limit: KV.MAX_KEYS_PER_PAGE, cursor },
      },
    );
    count += records.length + unread.length;
    cursor = resultInfo?.cursor ?? resultInfo?.cursors?.after ?? undefined;
    if (cursor === undefined || cursor === "") return { count, more: false };
    if (count > 0) break;
  }
  return { count, more: true };
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
