import { KV } from "../limits";
import type { Context } from "../runtime/lifecycle";
import type { NamespaceAddress } from "./address";
import { count } from "./check-entry";
import { deletedKeys, heldKeys } from "./held";
import { listKeys, type ListedKey } from "./listing";
import { shown } from "./plan";
import { readValues } from "./values";

/** Keys that an `up` deletes of others, unless `maxDeletes` says otherwise. */
const MAX_PRUNED = 100;

export interface Pruning extends NamespaceAddress {
  readonly prune?: { readonly prefix: string; readonly maxDeletes?: number } | undefined;
}

/** Keys under the pruned prefix that nobody of this program declares. */
export class Strangers {
  readonly keys: string[] = [];
  readonly #deleted: ReadonlySet<string>;

  readonly #pruning: Pruning;
  readonly #isOurs: (key: string) => boolean;

  private constructor(ctx: Context, pruning: Pruning, isOurs: (key: string) => boolean) {
    this.#pruning = pruning;
    this.#isOurs = isOurs;

    this.#deleted = deletedKeys(ctx, pruning.namespaceId);
  }

  /** @param isOwn keys that the resource itself declares, or has written. */
  static async of(ctx: Context, pruning: Pruning, isOwn: (key: string) => boolean): Promise<Strangers> {
    if (pruning.prune === undefined) return new Strangers(ctx, pruning, () => true);
    const isHeld = await heldKeys(ctx, pruning).byOthers();
    return new Strangers(ctx, pruning, (key) => isOwn(key) || isHeld(key));
  }

  /** Looks at every key that is listed on its way to somebody else. */
  async *among(listing: AsyncIterable<ListedKey>): AsyncGenerator<ListedKey> {
    for await (const listed of listing) {
      this.#see(listed.name);
      yield listed;
    }
  }

  /** Lists the prefix. Without `prune` there is nothing to look at. */
  async list(ctx: Context): Promise<this> {
    const { prune } = this.#pruning;
    if (prune === undefined) return this;
    for await (const { name } of listKeys(ctx.api, {
      ...this.#pruning,
      prefix: prune.prefix,
      complete: false,
    }))
      this.#see(name);
    return this;
  }

  /**
   * Drops keys that a run before this one may have deleted just now: they are listed for a while yet, without a value.
   *
   * @param writtenAt when the resource last wrote or deleted, in seconds since the epoch
   */
  async confirm(ctx: Context, writtenAt: number): Promise<this> {
    if (this.keys.length === 0 || ctx.api.now() / 1000 - writtenAt >= KV.CONSISTENCY_SECONDS) return this;
    const { accountId, namespaceId } = this.#pruning;
    const there = new Set<string>();
    for await (const { key } of readValues(ctx, {
      accountId,
      namespaceId,
      keys: this.keys,
      withMetadata: false,
    }))
      there.add(key);
    this.keys.splice(0, Infinity, ...this.keys.filter((key) => there.has(key)));
    return this;
  }

  /** For the reviewer; undefined where there are none. */
  get sentence(): string | undefined {
    if (this.keys.length === 0) return undefined;
    const noun = this.keys.length === 1 ? "key" : "keys";
    return `KvEntries ${this.#pruning.namespaceId}: prune deletes ${count(this.keys.length)} ${noun} that others wrote: ${shown(this.keys)}`;
  }

  /** Why nothing may be deleted: there are more than `maxDeletes`. */
  get tooMany(): string | undefined {
    const { prune } = this.#pruning;
    const most = prune?.maxDeletes ?? MAX_PRUNED;
    if (this.keys.length <= most) return undefined;
    return (
      `prune would delete ${count(this.keys.length)} keys of others under ${JSON.stringify(prune?.prefix ?? "")}; the limit is ${most}. ` +
      "Nothing was written. Raise prune.maxDeletes if that is meant, or choose a longer prefix."
    );
  }

  /** @throws where there are more than may be deleted. */
  refuseTooMany(): void {
    const { tooMany } = this;
    if (tooMany !== undefined) throw new Error(`KvEntries ${this.#pruning.namespaceId}: ${tooMany}`);
  }

  #see(key: string): void {
    const { prune } = this.#pruning;
    if (prune === undefined || !key.startsWith(prune.prefix)) return;
    if (!this.#isOurs(key) && !this.#deleted.has(key)) this.keys.push(key);
  }
}
