import { KV } from "../limits";
import { AdoptionError } from "../runtime/adoption";
import type { Context } from "../runtime/lifecycle";
import { isUnknownRoute, type NamespaceAddress } from "./address";
import type { Catalog, Row } from "./catalog";
import { count, isPast } from "./check-entry";
import { digest } from "./entry";
import { deletedKeys, madeNamespaces } from "./held";
import { listKeys, type ListedKey } from "./listing";
import { sameListed } from "./listed";
import type { Manifest } from "./manifest";
import { shown } from "./plan";
import { readValues } from "./values";
import type { Adopt } from "../runtime/fields";

export interface Adoption extends NamespaceAddress {
  readonly adopt?: Adopt | undefined;
}

interface Manner {
  /** The namespace's keys, where they are listed anyway. Read to its end. */
  readonly listing?: AsyncIterable<ListedKey> | undefined;
  /** A preview looks for the first of very many keys only. */
  readonly isPreview?: boolean;
}

/** New keys that a preview looks for: a few requests. */
const PREVIEW_KEYS = 1_000;

/** A declared key that exists, as a listing shows it. */
interface Found {
  readonly row: Row;
  readonly listed: ListedKey;
  /** Digest of its value, as soon as that was read. */
  value?: string;
}

/**
 * Looks for declared keys that the manifest does not have: somebody else may have written them. As far as `adopt` allows
 * it, they are entered into the manifest. Where no key is new, or the namespace is, nothing is asked.
 *
 * @throws AdoptionError naming the first ten keys; nothing was written.
 */
export async function adoptExisting(
  ctx: Context,
  address: Adoption,
  catalog: Catalog,
  manifest: Manifest,
  { listing, isPreview = false }: Manner = {},
): Promise<void> {
  const { namespaceId, adopt } = address;
  if (madeNamespaces(ctx).has(namespaceId)) return;
  const where = `KvEntries ${namespaceId}`;
  const deleted = deletedKeys(ctx, namespaceId);
  const now = ctx.api.now() / 1000;
  const all = [...catalog.rows.values()].filter(
    (row) => !isPast(row, now) && !manifest.has(row.key) && !deleted.has(row.key),
  );
  const rows = isPreview ? all.slice(0, PREVIEW_KEYS) : all;
  if (rows.length < all.length)
    ctx.say.info(`${where}: looked for the first ${count(rows.length)} of ${count(all.length)} new keys.`);
  const existing =
    listing === undefined
      ? await lookFor(ctx, address, catalog, rows)
      : await among(listing, catalog, rows, Infinity);
  if (existing === undefined || existing.size === 0) return;

  const names = [...existing.values()].map(({ listed }) => listed.name);
  const [exist, are, them] = names.length === 1 ? ["key exists", "is", "it"] : ["keys exist", "are", "them"];
  const some = `${count(names.length)} declared ${exist} already`;
  if (adopt === "takeOver") {
    ctx.say.warn(`${where}: ${some} (${shown(names)}); adopt: "takeOver" overwrites ${them}.`);
    return;
  }

  const unread = [...existing.values()].filter(({ value }) => value === undefined);
  const requests = Math.ceil(unread.length / KV.MAX_BULK_GET_KEYS);
  if (requests > 1 && adopt !== "never")
    ctx.say.info(
      `${where}: ${some}; comparing ${them} takes ${count(requests)} requests. adopt: "takeOver" overwrites ${them} without looking.`,
    );
  for await (const { key, bytes } of readValues(ctx, {
    ...address,
    keys: unread.map(({ listed }) => listed.name),
    isBinary: (key) => catalog.rows.get(key)?.isBinary === true,
    withMetadata: false,
  })) {
    const found = existing.get(key);
    if (found !== undefined) found.value = digest(bytes);
    if (adopt === "never") break; // One is enough.
  }
  const equal: string[] = [];
  const different: string[] = [];
  for (const { row, listed, value } of existing.values()) {
    if (value === undefined) continue; // Listed, and without a value: it is just disappearing, and is written like a new one.
    if (adopt !== "never" && row.value === value && sameListed(row, listed, ctx.api.now() / 1000)) {
      manifest.set(row.key, { ...row, expiration: listed.expiration ?? row.expiration });
      equal.push(listed.name);
    } else different.push(listed.name);
  }
  if (different.length > 0)
    throw adopt === "never"
      ? refused(namespaceId, names, "")
      : refused(namespaceId, different, " with other content");
  if (equal.length > 0)
    ctx.say.info(
      `${where}: ${count(equal.length)} declared ${exist} already as declared (${shown(equal)}) and ${are} adopted.`,
    );
}

/** Which of the rows exist, by as few requests as can be: each asked for, or all keys listed where that is cheaper. */
async function lookFor(
  ctx: Context,
  address: NamespaceAddress,
  catalog: Catalog,
  rows: readonly Row[],
): Promise<Map<string, Found>> {
  if (rows.length === 0) return new Map();
  const binary = rows.filter(({ isBinary }) => isBinary);
  const requests = Math.ceil((rows.length - binary.length) / KV.MAX_BULK_GET_KEYS) + binary.length;
  const list = (most: number): Promise<Map<string, Found> | undefined> =>
    among(listKeys(ctx.api, address), catalog, rows, most);
  if (requests > 1) {
    const listed = await list(requests * KV.MAX_KEYS_PER_PAGE);
    if (listed !== undefined) return listed;
  }
  const existing = new Map<string, Found>();
  try {
    const keys = rows.filter(({ isBinary }) => !isBinary).map(({ key }) => key);
    const values = readValues(ctx, { ...address, keys, withMetadata: false, bulkOnly: true });
    for await (const { key, bytes, metadata, expiration, isAlone } of values) {
      const row = catalog.rows.get(key);
      if (row === undefined) continue;
      const timed = row.expiration !== undefined || row.ttl !== undefined;
      // The time of expiry need not be in the answer to a bulk read.
      const listed =
        isAlone === true || (timed && expiration === undefined)
          ? await listedAs(ctx, address, key)
          : undefined;
      const answered = {
        name: key,
        ...(metadata === undefined ? {} : { metadata }),
        ...(expiration === undefined ? {} : { expiration }),
      };
      existing.set(key, { row, listed: listed ?? answered, value: digest(bytes) });
    }
  } catch (error) {
    if (!isUnknownRoute(error)) throw error;
    return (await list(Infinity)) ?? new Map<string, Found>(); // The older API has no bulk read.
  }
  for (const row of binary) {
    const listed = await listedAs(ctx, address, row.key);
    if (listed !== undefined) existing.set(row.key, { row, listed });
  }
  return existing;
}

/** Which of the rows a listing shows; undefined where it has at least so many keys. */
async function among(
  listing: AsyncIterable<ListedKey>,
  catalog: Catalog,
  rows: readonly Row[],
  most: number,
): Promise<Map<string, Found> | undefined> {
  const wanted = new Set(rows);
  const existing = new Map<string, Found>();
  let seen = 0;
  for await (const listed of listing) {
    const row = catalog.rows.get(listed.name);
    if (row !== undefined && wanted.has(row)) existing.set(row.key, { row, listed });
    seen += 1;
    if (seen === most) return undefined; // Before the next page is asked for.
  }
  return existing;
}

/** A key as the listing shows it, which sorts it before all those that begin with it. */
async function listedAs(
  ctx: Context,
  address: NamespaceAddress,
  key: string,
): Promise<ListedKey | undefined> {
  for await (const listed of listKeys(ctx.api, { ...address, prefix: key, limit: 10 }))
    return listed.name === key ? listed : undefined;
  return undefined;
}

function refused(namespaceId: string, keys: readonly string[], how: string): AdoptionError {
  const subject = keys.length === 1 ? "declared key exists" : "declared keys exist";
  return new AdoptionError(
    `KvEntries ${namespaceId}: ${count(keys.length)} ${subject} already${how} (${shown(keys)}). ` +
      'Nothing was written. Set adopt: "takeOver" to overwrite them, or declare other keys.',
  );
}
