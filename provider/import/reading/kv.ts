import { z } from "zod";
import { listNamespacesOf } from "../../kv/listing";
import { TYPES, type Found } from "../found";
import type { Reading } from "../reading";
import type { Account } from "../zones";

const PREVIEW_SUFFIX = "_preview";

/** The namespaces of an account: what was found of them. */
export async function readNamespaces(reading: Reading, account: Account): Promise<readonly Found[]> {
  const before = reading.found.length;
  const what = `Workers KV namespaces of ${account.what}`;
  await reading.part(what, async () => {
    const listed = new Map<string, string>();
    const all = listNamespacesOf(
      reading.host.api,
      account.id,
      z.looseObject({ id: z.string(), title: z.string() }),
    );
    for await (const { id, title } of all) {
      listed.set(id, title);
      reading.progress(`reading ${what}: ${listed.size}`);
    }
    const titles = new Set(listed.values());
    const sorted = [...listed].sort(([, a], [, b]) => (a < b ? -1 : 1));
    reading.found.push(...sorted.map(([id, title]) => namespaceOf(account, id, title, titles)));
  });
  return reading.found.slice(before);
}

function namespaceOf(account: Account, id: string, title: string, titles: ReadonlySet<string>): Found {
  const resource = TYPES.kvNamespace;
  const scope = { kind: "account", id: account.id } as const;
  // Beside the namespace it is the preview of; alone it is one with an odd title.
  const base = title.slice(0, -PREVIEW_SUFFIX.length);
  const preview = title.endsWith(PREVIEW_SUFFIX) && titles.has(base);
  const own = preview ? { title: base, preview } : { title };
  return {
    resource,
    id,
    what: `namespace ${id} ${JSON.stringify(title)}`,
    labels: [title],
    scope,
    args: (writing) => ({ accountId: writing.scope(scope), ...own }),
    // All that a read would give stands in the listing: an account may have a thousand.
    outputs: { accountId: account.id, ...own, fullTitle: title, schemaVersion: resource.schemaVersion },
  };
}
