import { KV } from "../limits";
import { AdoptionError, mayAdopt } from "../runtime/adoption";
import type { Context } from "../runtime/lifecycle";
import { omitAbsent } from "../runtime/members";
import { isUnknownRoute, subjectOf, type NamespaceAddress } from "./address";
import type { Catalog, Row } from "./catalog";
import { count, digest, isPast, shown } from "./entry";
import { deletedKeys, madeNamespaces } from "./held";
import { listKeys, type ListedKey, sameListed } from "./listing";
import type { Manifest } from "./manifest";
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
  value: string | undefined;
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
  const where = subjectOf(ctx, namespaceId);
  const { wanted, others } = newKeys(ctx, address, catalog, manifest, isPreview ? PREVIEW_KEYS : Infinity);
  if (others > 0)
    ctx.say.info(
      `${where}: looked for the first ${count(wanted.size)} of ${count(wanted.size + others)} new keys.`,
    );
  const existing = await (listing === undefined ? lookFor(ctx, address, wanted) : among(listing, wanted));
  if (existing === undefined || existing.size === 0) return;

  const names = [...existing.values()].map(({ listed }) => listed.name);
  const [exist, are, them] = names.length === 1 ? ["key exists", "is", "it"] : ["keys exist", "are", "them"];
  const some = `${count(names.length)} declared ${exist} already`;
  if (mayAdopt(adopt, "different")) {
    ctx.say.warn(
      `${where}: ${some} (${shown(names)}); adopt: "takeOver" overwrites ${them}. Destroying the resource deletes ${them}.`,
    );
    return;
  }

  const unread = [...existing.values()].filter(({ value }) => value === undefined);
  const requests = Math.ceil(unread.length / KV.MAX_BULK_GET_KEYS);
  if (requests > 1 && mayAdopt(adopt, "equal"))
    ctx.say.info(
      `${where}: ${some}; comparing ${them} takes ${count(requests)} requests. adopt: "takeOver" overwrites ${them} without looking.`,
    );
  for await (const { key, bytes } of readValues(ctx, {
    ...address,
    keys: unread.map(({ listed }) => listed.name),
    isBinary: (key) => wanted.get(key)?.isBinary === true,
    withMetadata: false,
  })) {
    const found = existing.get(key);
    if (found !== undefined) found.value = digest(bytes);
    if (!mayAdopt(adopt, "equal")) break; // One is enough.
  }
  const equal: string[] = [];
  const different: string[] = [];
  for (const { row, listed, value } of existing.values()) {
    if (value === undefined) continue; // Listed, and without a value: it is just disappearing, and is written like a new one.
    if (mayAdopt(adopt, "equal") && row.value === value && sameListed(row, listed, ctx.api.now() / 1000)) {
      manifest.set(row.key, { ...row, expiration: listed.expiration ?? row.expiration });
      equal.push(listed.name);
    } else different.push(listed.name);
  }
  if (different.length > 0)
    throw mayAdopt(adopt, "equal")
      ? refused(where, different, " with other content")
      : refused(where, names, "");
  if (equal.length > 0)
    ctx.say.info(
      `${where}: ${count(equal.length)} declared ${exist} already as declared (${shown(equal)}) and ${are} adopted: destroying the resource deletes ${them}.`,
    );
}

type Rows = ReadonlyMap<string, Row>;

/** Declared keys that were not written by the resource, and did not go in this operation. @param most to look for. */
function newKeys(
  ctx: Context,
  { namespaceId }: NamespaceAddress,
  catalog: Catalog,
  manifest: Manifest,
  most: number,
): { readonly wanted: Rows; readonly others: number } {
  const deleted = deletedKeys(ctx, namespaceId);
  const now = ctx.api.now() / 1000;
  const wanted = new Map<string, Row>();
  let others = 0;
  for (const row of catalog.rows.values()) {
    if (isPast(row, now) || manifest.has(row.key) || deleted.has(row.key)) continue;
    if (wanted.size < most) wanted.set(row.key, row);
    else others += 1;
  }
  return { wanted, others };
}

/** Which of the keys exist, by as few requests as can be: each asked for, or all keys listed where that is cheaper. */
async function lookFor(ctx: Context, address: Adoption, wanted: Rows): Promise<Map<string, Found>> {
  if (wanted.size === 0) return new Map();
  const [binary, text]: [Row[], string[]] = [[], []];
  for (const row of wanted.values()) {
    if (row.isBinary) binary.push(row);
    else text.push(row.key);
  }
  const requests = Math.ceil(text.length / KV.MAX_BULK_GET_KEYS) + binary.length;
  if (requests > 1) {
    const pages = listKeys(ctx.api, address);
    const listed = await among(pages, wanted, requests * KV.MAX_KEYS_PER_PAGE);
    if (listed !== undefined) return listed;
  }
  const existing = new Map<string, Found>();
  const found = (row: Row, listed: ListedKey | undefined, value?: string): void => {
    if (listed !== undefined) existing.set(row.key, { row, listed, value });
  };
  try {
    const values = readValues(ctx, { ...address, keys: text, withMetadata: false, bulkOnly: true });
    for await (const { key, bytes, metadata, expiration, isAlone } of values) {
      const row = wanted.get(key);
      if (row === undefined) continue;
      // The time of expiry need not be in the answer to a bulk read.
      const isTimed = row.expiration !== undefined || row.ttl !== undefined;
      const isListed = isAlone === true || (isTimed && expiration === undefined);
      const listed = isListed ? await listedAs(ctx, address, key) : undefined;
      found(row, listed ?? omitAbsent({ name: key, metadata, expiration }), digest(bytes));
    }
  } catch (error) {
    if (!isUnknownRoute(error)) throw error;
    return (await among(listKeys(ctx.api, address), wanted)) ?? existing; // The older API has no bulk read.
  }
  for (const row of binary) found(row, await listedAs(ctx, address, row.key));
  return existing;
}

/** Which of the keys a listing shows; undefined where it has at least so many. */
async function among(
  listing: AsyncIterable<ListedKey>,
  wanted: Rows,
  most = Infinity,
): Promise<Map<string, Found> | undefined> {
  const existing = new Map<string, Found>();
  let seen = 0;
  for await (const listed of listing) {
    const row = wanted.get(listed.name);
    if (row !== undefined) existing.set(row.key, { row, listed, value: undefined });
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

function refused(where: string, keys: readonly string[], how: string): AdoptionError {
  const subject = keys.length === 1 ? "declared key exists" : "declared keys exist";
  return new AdoptionError(
    `${where}: ${count(keys.length)} ${subject} already${how} (${shown(keys)}). ` +
      'Nothing was written. Set adopt: "takeOver" to overwrite them, or declare other keys. In a forced replacement ' +
      "(`pulumi state taint`, `--target-replace`) they may be this resource's own.",
  );
}
