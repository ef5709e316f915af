import { PREVIEW_SUFFIX } from "../../kv/address";
import { namespacesByTitle, type Namespace } from "../../kv/listing";
import { omitAbsent } from "../../basics/json";
import { TYPES, type ExistingObject } from "../existing";
import type { Inventory } from "../inventory";
import type { Account } from "../zones";

/** Reads an account's namespaces. */
export async function readNamespaces(
  inventory: Inventory,
  account: Account,
): Promise<readonly ExistingObject[]> {
  const scope = { kind: "account", id: account.id } as const;
  const namespaces: ExistingObject[] = [];
  const what = `Workers KV namespaces of ${account.what}`;
  await inventory.part(what, async () => {
    const listed = await namespacesByTitle(inventory.host.api, account.id);
    const titles = new Set(listed.map(({ title }) => title));
    namespaces.push(...listed.map((each) => namespaceOf(account, each, titles)));
    inventory.found.push(...namespaces.filter(({ id }) => inventory.wants(TYPES.kvNamespace, scope, id)));
  });
  return namespaces;
}

function namespaceOf(
  account: Account,
  { id, title, jurisdiction }: Namespace,
  titles: ReadonlySet<string>,
): ExistingObject {
  const resource = TYPES.kvNamespace;
  const scope = { kind: "account", id: account.id } as const;
  // A title with the suffix belongs to a preview namespace only if the namespace itself exists.
  const base = title.slice(0, -PREVIEW_SUFFIX.length);
  const preview = title.endsWith(PREVIEW_SUFFIX) && titles.has(base);
  const own = omitAbsent({ ...(preview ? { title: base, preview } : { title }), jurisdiction });
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
