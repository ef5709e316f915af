import { KV } from "../limits";
import type { Context } from "../runtime/lifecycle";
import { subjectOf, type NamespaceAddress } from "./address";
import { formatNumber } from "../limits/workers";
import { deletedKeys, ownedKeys } from "./owned-keys";
import { listKeys, type ListedKey } from "./listing";
import { readValues } from "./values";

/** The default of `maxDeletes`. */
export const DEFAULT_MAX_PRUNED = 100;

/** How many unmanaged keys a preview reads again: ten requests. */
const MOST_READ_AGAIN = 10 * KV.MAX_BULK_GET_KEYS;

export interface Pruning extends NamespaceAddress {
  readonly prune?: { readonly prefix: string; readonly maxDeletes?: number } | undefined;
}

/** Keys under the pruned prefix that this program doesn't declare. */
export class UnmanagedKeys {
  #keys: string[] = [];
  readonly #who: string;
  readonly #pruning: Pruning;
  readonly #isKnown: (key: string) => boolean;

  private constructor(who: string, pruning: Pruning, isKnown: (key: string) => boolean) {
    this.#who = who;
    this.#pruning = pruning;
    this.#isKnown = isKnown;
  }

  /** @param isOwn whether the resource itself declares or wrote a key. */
  static async of(ctx: Context, pruning: Pruning, isOwn: (key: string) => boolean): Promise<UnmanagedKeys> {
    const who = subjectOf(ctx, pruning.namespaceId);
    if (pruning.prune === undefined) return new UnmanagedKeys(who, pruning, () => true);
    const isOwnedElsewhere = await ownedKeys(ctx, pruning).byOthers();
    const deleted = deletedKeys(ctx, pruning.namespaceId);
    return new UnmanagedKeys(who, pruning, (key) => isOwn(key) || isOwnedElsewhere(key) || deleted.has(key));
  }

  /** Whether a listing that the keys were collected from was read to its end. */
  isComplete = false;

  get keys(): readonly string[] {
    return this.#keys;
  }

  /** Collects unmanaged keys while the caller reads the listing. */
  async *collectFrom(listing: AsyncIterable<ListedKey>): AsyncGenerator<ListedKey> {
    for await (const listed of listing) {
      this.#collect(listed);
      yield listed;
    }
    this.isComplete = true;
  }

  /**
   * Lists the keys under the prefix, if there is one. Leaves out keys that the previous run may have just deleted:
   * Cloudflare lists them for a while, without a value.
   *
   * @param writtenAt when the resource last wrote or deleted, in Unix seconds. Undefined if unknown, as in a preview: then
   * keys are read again as long as that takes few requests.
   */
  async list(ctx: Context, writtenAt: number | undefined): Promise<this> {
    const { accountId, namespaceId, prune } = this.#pruning;
    if (prune === undefined) return this;
    const address = { accountId, namespaceId };
    // A preview has to see every key that will be deleted; an update deletes those that it can read.
    const complete = writtenAt === undefined;
    const listing = listKeys(ctx.api, { ...address, prefix: prune.prefix, complete });
    for await (const listed of listing) this.#collect(listed);
    const isSettled =
      writtenAt === undefined
        ? this.#keys.length > MOST_READ_AGAIN
        : ctx.api.now() / 1000 - writtenAt >= KV.CONSISTENCY_SECONDS;
    if (this.#keys.length === 0 || isSettled) return this;
    const existing = new Set<string>();
    for await (const { key } of readValues(ctx, { ...address, keys: this.#keys, withMetadata: false }))
      existing.add(key);
    this.#keys = this.#keys.filter((key) => existing.has(key));
    return this;
  }

  /** Returns the error that stops the deletion if there are more keys than `maxDeletes`. Otherwise undefined. */
  get limitError(): string | undefined {
    const { prune } = this.#pruning;
    const most = prune?.maxDeletes ?? DEFAULT_MAX_PRUNED;
    if (this.keys.length <= most) return undefined;
    const noun = this.keys.length === 1 ? "key" : "keys";
    return (
      `prune would delete ${formatNumber(this.keys.length)} ${noun} that others wrote under ${JSON.stringify(prune?.prefix ?? "")}; the limit is ${most}. ` +
      "Nothing was written. If you do want to delete these keys, raise prune.maxDeletes; otherwise choose a longer prefix."
    );
  }

  /** @throws if there are more keys than `maxDeletes`. */
  enforceLimit(): void {
    const { limitError } = this;
    if (limitError !== undefined) throw new Error(`${this.#who}: ${limitError}`);
  }

  #collect({ name }: ListedKey): void {
    const prefix = this.#pruning.prune?.prefix;
    if (prefix !== undefined && name.startsWith(prefix) && !this.#isKnown(name)) this.#keys.push(name);
  }
}
