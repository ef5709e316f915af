import { KV } from "../limits";
import { pluralize } from "../basics/words";
import type { Context } from "../runtime/lifecycle";
import type { NamespaceAddress } from "./address";
import { keysOf, ownedElsewhere } from "./namespace-keys";
import { listKeys } from "./listing";
import { readValues } from "./values";

/** The default of `maxDeletes`. */
export const DEFAULT_MAX_PRUNED = 100;

/** How many keys a preview reads again: ten requests. */
const MOST_READ_AGAIN = 10 * KV.MAX_BULK_GET_KEYS;

export interface Pruning extends NamespaceAddress {
  readonly prune?: { readonly prefix: string; readonly maxDeletes?: number } | undefined;
}

/**
 * Returns the keys under the pruned prefix that this program doesn't declare. Leaves out keys that the previous run may
 * have just deleted: Cloudflare lists them for a while, without a value.
 *
 * @param isOwn whether the resource itself declares or wrote a key.
 * @param writtenAt when the resource last wrote or deleted, in Unix seconds. Undefined if unknown, as in a preview: then
 * keys are read again as long as that takes few requests.
 */
export async function unmanagedKeys(
  ctx: Context,
  { accountId, namespaceId, prune }: Pruning,
  isOwn: (key: string) => boolean,
  writtenAt: number | undefined,
): Promise<string[]> {
  const address = { accountId, namespaceId };
  const { deleted, isCreated } = keysOf(ctx, address);
  if (prune === undefined || isCreated) return [];
  const isOwnedElsewhere = await ownedElsewhere(ctx, address);
  const keys: string[] = [];
  // A preview has to see every key that will be deleted; an update deletes those that it can read.
  const complete = writtenAt === undefined;
  for await (const { name } of listKeys(ctx.api, { ...address, prefix: prune.prefix, complete }))
    if (!isOwn(name) && !isOwnedElsewhere(name) && !deleted.has(name)) keys.push(name);
  const isSettled =
    writtenAt === undefined
      ? keys.length > MOST_READ_AGAIN
      : ctx.api.now() / 1000 - writtenAt >= KV.CONSISTENCY_SECONDS;
  return isSettled ? keys : await existingOf(ctx, address, keys);
}

/** Returns those of the keys that have a value. */
export async function existingOf(
  ctx: Context,
  { accountId, namespaceId }: NamespaceAddress,
  keys: readonly string[],
): Promise<string[]> {
  const existing = new Set<string>();
  for await (const { key } of readValues(ctx, { accountId, namespaceId, keys, withMetadata: false }))
    existing.add(key);
  return keys.filter((key) => existing.has(key));
}

/** Returns the error that stops the deletion if there are more keys than `maxDeletes`. Otherwise undefined. */
export function pruneLimitError(prune: Pruning["prune"], { length }: readonly string[]): string | undefined {
  const most = prune?.maxDeletes ?? DEFAULT_MAX_PRUNED;
  if (length <= most) return undefined;
  return (
    `prune would delete ${pluralize(length, "key")} that others wrote under ${JSON.stringify(prune?.prefix ?? "")}; the limit is ${most}. ` +
    "Nothing was written. If you do want to delete these keys, raise prune.maxDeletes; otherwise choose a longer prefix."
  );
}
