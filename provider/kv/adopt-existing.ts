import { KV } from "../limits/index";
import { AdoptionError, mayAdopt } from "../runtime/adoption";
import type { Context } from "../runtime/lifecycle";
import { omitAbsent } from "../basics/json";
import { hidesKeys, subjectOf, type NamespaceAddress } from "./address";
import type { Catalog, Row } from "./catalog";
import { formatNumber } from "../limits/workers";
import { digest, isExpired, lifeOf, NO_VALUE, quoteKeys, UNCERTAIN } from "./entry";
import { hasOtherProviders, keysOf } from "./namespace-keys";
import { listKeys, type ListedKey, sameListed } from "./listing";
import type { Manifest } from "./manifest";
import { readValues } from "./values";
import type { Adopt } from "../runtime/fields";

export interface AdoptionRequest extends NamespaceAddress {
  readonly adopt?: Adopt | undefined;
}

/** How many new keys a preview checks. The limit keeps the preview to a few requests. */
const PREVIEW_KEYS = 1_000;

/** A declared key that already exists, as listed. */
interface ExistingKey {
  readonly row: Row;
  readonly listed: ListedKey;
  /** The digest of the key's value. Undefined until the value is read. */
  value: string | undefined;
}

/** Existing keys that a create or update adopts. */
export interface AdoptedKeys {
  readonly adopts: readonly string[];
  readonly overwrites: readonly string[];
  /** Those of the overwritten keys that expire earlier than what exists. */
  readonly shortened: readonly Row[];
  /** Those of the overwritten keys whose value becomes empty. */
  readonly emptied: readonly string[];
  /** How many new keys weren't looked up. */
  readonly unchecked: number;
}

export const NOTHING_ADOPTED: AdoptedKeys = {
  adopts: [],
  overwrites: [],
  shortened: [],
  emptied: [],
  unchecked: 0,
};

/**
 * Finds declared keys that exist but aren't in the manifest, which means that someone else wrote them. Adds them to the
 * manifest if they match. Sends no requests if there are no new keys, or if the namespace itself is new.
 *
 * @param isPreview whether to check only the first `PREVIEW_KEYS` new keys.
 * @throws AdoptionError that names the first ten keys. At that point, nothing has been written.
 */
export async function adoptExisting(
  ctx: Context,
  address: AdoptionRequest,
  catalog: Catalog,
  manifest: Manifest,
  isPreview = false,
): Promise<AdoptedKeys> {
  const { namespaceId, adopt } = address;
  const overwrites = mayAdopt(adopt, "different");
  if (keysOf(ctx, address).isCreated) return NOTHING_ADOPTED;
  // A reviewer has to see each key that's overwritten. For that, a listing is enough.
  const most = isPreview && !overwrites ? PREVIEW_KEYS : Infinity;
  const { wanted, others: unchecked } = newKeys(ctx, address, catalog, manifest, most);
  const read = (): Promise<ReadonlyMap<string, ExistingKey>> => readExisting(ctx, address, wanted);
  // A check and the diff that follows it ask about the same keys.
  const key = `existing keys in ${namespaceId}: ${String(adopt)} ${digest([...wanted.keys()].join("\n"))}`;
  const existing = await (isPreview ? ctx.once(key, read) : read());
  const names = [...existing.values()].map(({ listed }) => listed.name);
  const now = ctx.api.now() / 1000;
  if (overwrites) {
    const found = [...existing.values()];
    const rows = found.filter(({ row, listed }) => lifeOf(row, now) < lifeOf(listed, now));
    const emptied = found.filter(({ row }) => row.value === NO_VALUE).map(({ listed }) => listed.name);
    return {
      ...NOTHING_ADOPTED,
      overwrites: names,
      shortened: rows.map(({ row }) => row),
      emptied,
      unchecked,
    };
  }
  const equal: string[] = [];
  const different: string[] = [];
  for (const { row, listed, value } of existing.values()) {
    // A key that's listed without a value was just deleted, so it's written like a new one.
    if (value === undefined) continue;
    if (mayAdopt(adopt, "equal") && row.value === value && sameListed(row, listed, now)) {
      // If another provider's resource has just deleted the key, this read may return its old value. So the key is
      // written anyway.
      const isCertain = !hasOtherProviders(ctx, namespaceId);
      const found = { ...row, expiration: listed.expiration ?? row.expiration };
      manifest.set(row.key, isCertain ? found : UNCERTAIN);
      equal.push(listed.name);
    } else different.push(listed.name);
  }
  if (different.length > 0)
    throw mayAdopt(adopt, "equal")
      ? adoptionRefusal(ctx, address, different, " with different content")
      : adoptionRefusal(ctx, address, names, "");
  return { ...NOTHING_ADOPTED, adopts: equal, unchecked };
}

type Rows = ReadonlyMap<string, Row>;

/** Finds out which keys exist. Unless they're overwritten anyway, also reads their values. */
async function readExisting(
  ctx: Context,
  address: AdoptionRequest,
  wanted: Rows,
): Promise<ReadonlyMap<string, ExistingKey>> {
  const { adopt, namespaceId } = address;
  const existing = await findExisting(ctx, address, wanted);
  if (mayAdopt(adopt, "different")) return existing;
  const unread = [...existing.values()].filter(({ value }) => value === undefined);
  const requests = Math.ceil(unread.length / KV.MAX_BULK_GET_KEYS);
  if (requests > 1 && mayAdopt(adopt, "equal"))
    ctx.say.info(
      `${subjectOf(ctx, namespaceId)}: ${formatNumber(existing.size)} declared keys already exist; comparing them takes ${formatNumber(requests)} requests. To overwrite them without comparing, set adopt: "takeOver".`,
    );
  for await (const { key, bytes } of readValues(ctx, {
    ...address,
    keys: unread.map(({ listed }) => listed.name),
    isBinary: (key) => wanted.get(key)?.isBinary === true,
    withMetadata: false,
  })) {
    const one = existing.get(key);
    if (one !== undefined) one.value = digest(bytes);
    if (!mayAdopt(adopt, "equal")) break; // A single key with a value is enough to refuse.
  }
  return existing;
}

/** Returns up to `most` declared keys that the resource didn't write and this operation didn't delete. */
function newKeys(
  ctx: Context,
  address: NamespaceAddress,
  catalog: Catalog,
  manifest: Manifest,
  most: number,
): { readonly wanted: Rows; readonly others: number } {
  const { deleted } = keysOf(ctx, address);
  const now = ctx.api.now() / 1000;
  const wanted = new Map<string, Row>();
  let others = 0;
  for (const row of catalog.rows.values()) {
    if (isExpired(row, now) || manifest.has(row.key) || deleted.has(row.key)) continue;
    if (wanted.size < most) wanted.set(row.key, row);
    else others += 1;
  }
  return { wanted, others };
}

/** Finds out which keys exist: reads them or lists the namespace, whichever takes fewer requests. */
async function findExisting(
  ctx: Context,
  address: AdoptionRequest,
  wanted: Rows,
): Promise<Map<string, ExistingKey>> {
  if (wanted.size === 0) return new Map();
  const [binary, text]: [Row[], string[]] = [[], []];
  for (const row of wanted.values()) {
    if (row.isBinary) binary.push(row);
    else text.push(row.key);
  }
  const requests = Math.ceil(text.length / KV.MAX_BULK_GET_KEYS) + binary.length;
  if (requests > 1) {
    const pages = listKeys(ctx.api, address);
    const listed = await existingIn(pages, wanted, requests * KV.MAX_KEYS_PER_PAGE);
    if (listed !== undefined) return listed;
  }
  const existing = new Map<string, ExistingKey>();
  const found = (row: Row, listed: ListedKey | undefined, value?: string): void => {
    if (listed !== undefined) existing.set(row.key, { row, listed, value });
  };
  const values = readValues(ctx, { ...address, keys: text, withMetadata: false });
  for await (const { key, bytes, metadata, expiration, isAlone } of values) {
    const row = wanted.get(key);
    if (row === undefined) continue;
    // The response to a bulk read doesn't always include the expiration.
    const isTimed = row.expiration !== undefined || row.ttl !== undefined;
    const isListed = isAlone === true || (isTimed && expiration === undefined);
    const listed = isListed ? await listedAs(ctx, address, key) : undefined;
    found(row, listed ?? omitAbsent({ name: key, metadata, expiration }), digest(bytes));
  }
  for (const row of binary) found(row, await listedAs(ctx, address, row.key));
  return existing;
}

/** Finds out which keys are in the listing. Undefined if the listing has `most` keys or more. */
async function existingIn(
  listing: AsyncIterable<ListedKey>,
  wanted: Rows,
  most: number,
): Promise<Map<string, ExistingKey> | undefined> {
  const existing = new Map<string, ExistingKey>();
  let seen = 0;
  for await (const listed of listing) {
    const row = wanted.get(listed.name);
    if (row !== undefined) existing.set(row.key, { row, listed, value: undefined });
    seen += 1;
    if (seen === most) return undefined; // Stops before the next page is requested.
  }
  return existing;
}

/** Lists a single key, by using it as the prefix: it comes before all longer keys with that prefix. */
async function listedAs(
  ctx: Context,
  address: NamespaceAddress,
  key: string,
): Promise<ListedKey | undefined> {
  for await (const listed of listKeys(ctx.api, { ...address, prefix: key, limit: 10 }))
    return listed.name === key ? listed : undefined;
  return undefined;
}

function adoptionRefusal(
  ctx: Context,
  { namespaceId }: NamespaceAddress,
  keys: readonly string[],
  how: string,
): AdoptionError {
  const subject = keys.length === 1 ? "declared key already exists" : "declared keys already exist";
  return new AdoptionError(
    `${subjectOf(ctx, namespaceId)}: ${formatNumber(keys.length)} ${subject}${how} (${quoteKeys(keys, hidesKeys(ctx))}). ` +
      'Nothing was written. Set adopt: "takeOver" to overwrite existing keys, or declare different keys. ' +
      "If you forced a replacement (`pulumi state taint`, `--target-replace`), this resource may have written them itself.",
  );
}
