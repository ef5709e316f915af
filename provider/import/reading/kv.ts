import { z } from "zod";
import { listNamespacesOf } from "../../kv/listing";
import { TYPES, type ExistingObject } from "../existing";
import type { Inventory } from "../inventory";
import type { Account } from "../zones";

const PREVIEW_SUFFIX = "_preview";

/** Reads an account's namespaces. */
export async function readNamespaces(
  inventory: Inventory,
  account: Account,
): Promise<readonly ExistingObject[]> {
  const before = inventory.found.length;
  const what = `Workers KV namespaces of ${account.what}`;
  await inventory.part(what, async () => {
    const listed = new Map<string, string>();
    const all = listNamespacesOf(
      inventory.host.api,
      account.id,
      z.looseObject({ id: z.string(), title: z.string() }),
    );
    for await (const { id, title } of all) {
      listed.set(id, title);
      inventory.progress(`reading ${what}: ${listed.size}`);
    }
    const titles = new Set(listed.values());
    const sorted = [...listed].sort(([, a], [, b]) => (a < b ? -1 : 1));
    inventory.found.push(...sorted.map(([id, title]) => namespaceOf(account, id, title, titles)));
  });
  return inventory.found.slice(before);
}

function namespaceOf(
  account: Account,
  id: string,
  title: string,
  titles: ReadonlySet<string>,
): ExistingObject {
  const resource = TYPES.kvNamespace;
  const scope = { kind: "account", id: account.id } as const;
  // A title with the suffix belongs to a preview namespace only if the namespace itself exists.
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
    // The list contains everything that a read would return, which saves up to a thousand requests.
    outputs: { accountId: account.id, ...own, fullTitle: title, schemaVersion: resource.schemaVersion },
  };
}
