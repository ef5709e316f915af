import { KV } from "../limits";
import { AdoptionError } from "../runtime/adoption";
import type { Context } from "../runtime/lifecycle";
import type { NamespaceAddress } from "./address";
import type { Catalog } from "./catalog";
import { count, isPast } from "./check-entry";
import { digest } from "./entry";
import { deletedKeys } from "./held";
import type { ListedKey } from "./listing";
import { sameListed } from "./listed";
import type { Manifest } from "./manifest";
import { shown } from "./plan";
import { readValues } from "./values";

export interface Adoption extends NamespaceAddress {
  readonly adopt?: "ifEqual" | "never" | "takeOver" | undefined;
}

/**
 * Fills the manifest with declared entries that exist already, as far as `adopt` allows it.
 *
 * @param listing the namespace's keys. Read to its end.
 * @throws AdoptionError naming the first ten keys; nothing was written.
 */
export async function adoptExisting(
  ctx: Context,
  { accountId, namespaceId, adopt }: Adoption,
  { records, texts }: Catalog,
  manifest: Manifest,
  listing: AsyncIterable<ListedKey>,
): Promise<void> {
  const now = Date.now() / 1000;
  const deleted = deletedKeys(ctx, namespaceId);
  /** By row, what is there of what is declared. */
  const existing = new Map<number, ListedKey>();
  for await (const listed of listing) {
    const row = records.find(listed.name);
    if (row === -1 || deleted.has(listed.name)) continue;
    const expiration = records.expiration(row);
    if (Number.isNaN(expiration) || !isPast({ expiration }, now)) existing.set(row, listed);
  }
  if (existing.size === 0) return;
  const where = `KvEntries ${namespaceId}`;
  const some = `${count(existing.size)} declared ${existing.size === 1 ? "key exists" : "keys exist"} already`;
  if (adopt === "takeOver") {
    ctx.say.info(`${where}: ${some}; adopt: "takeOver" overwrites them without looking.`);
    return;
  }
  if (adopt === "never")
    throw refused(
      namespaceId,
      [...existing.values()].map(({ name }) => name),
      "",
    );

  const requests = Math.ceil(existing.size / KV.MAX_BULK_GET_KEYS);
  if (requests > 1)
    ctx.say.info(
      `${where}: ${some}; comparing them takes ${count(requests)} requests. adopt: "takeOver" overwrites them without looking.`,
    );
  const different: string[] = [];
  for await (const { key, bytes } of readValues(ctx, {
    accountId,
    namespaceId,
    keys: [...existing.values()].map(({ name }) => name),
    isBinary: (key) => texts.isBinary(records.find(key)),
    withMetadata: false,
  })) {
    const row = records.find(key);
    const listed = existing.get(row);
    if (listed === undefined) continue;
    const wanted = records.get(row);
    if (wanted.value === digest(bytes) && sameListed(wanted, listed))
      manifest.take(records, row, listed.expiration);
    else different.push(key);
  }
  // A key that was listed and has no value is one that is just disappearing: it is written like a new one.
  if (different.length > 0) throw refused(namespaceId, different, " with other content");
}

function refused(namespaceId: string, keys: readonly string[], how: string): AdoptionError {
  const subject = keys.length === 1 ? "declared key exists" : "declared keys exist";
  return new AdoptionError(
    `KvEntries ${namespaceId}: ${count(keys.length)} ${subject} already${how} (${shown(keys)}). ` +
      'Nothing was written. Set adopt: "takeOver" to overwrite them, or declare other keys.',
  );
}
