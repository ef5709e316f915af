import { KV } from "../limits";
import type { Context } from "../runtime/lifecycle";
import { subjectOf, type NamespaceAddress } from "./address";
import { count, shown } from "./entry";
import { deletedKeys, heldKeys } from "./held";
import { listKeys, type ListedKey } from "./listing";
import { readValues } from "./values";

/** Keys that an `up` deletes of others, unless `maxDeletes` says otherwise. */
const MAX_PRUNED = 100;

export interface Pruning extends NamespaceAddress {
  readonly prune?: { readonly prefix: string; readonly maxDeletes?: number } | undefined;
}

/** Keys under the pruned prefix that nobody of this program declares. */
export class Strangers {
  #keys: string[] = [];
  readonly #who: string;
  readonly #pruning: Pruning;
  readonly #isKnown: (key: string) => boolean;

  private constructor(who: string, pruning: Pruning, isKnown: (key: string) => boolean) {
    this.#who = who;
    this.#pruning = pruning;
    this.#isKnown = isKnown;
  }

  /** @param isOwn keys that the resource itself declares, or has written. */
  static async of(ctx: Context, pruning: Pruning, isOwn: (key: string) => boolean): Promise<Strangers> {
    const who = subjectOf(ctx, pruning.namespaceId);
    if (pruning.prune === undefined) return new Strangers(who, pruning, () => true);
    const isHeld = await heldKeys(ctx, pruning).byOthers();
    const deleted = deletedKeys(ctx, pruning.namespaceId);
    return new Strangers(who, pruning, (key) => isOwn(key) || isHeld(key) || deleted.has(key));
  }

  get keys(): readonly string[] {
    return this.#keys;
  }

  /** Looks at every key that is listed on its way to somebody else. */
  async *among(listing: AsyncIterable<ListedKey>): AsyncGenerator<ListedKey> {
    for await (const listed of listing) {
      this.#see(listed);
      yield listed;
    }
  }

  /**
   * Lists the prefix; without `prune` there is nothing to look at. Drops keys that a run before this one may have deleted
   * just now: they are listed for a while yet, without a value.
   *
   * @param writtenAt when the resource last wrote or deleted, in seconds since the epoch
   */
  async list(ctx: Context, writtenAt: number): Promise<this> {
    const { accountId, namespaceId, prune } = this.#pruning;
    if (prune === undefined) return this;
    const address = { accountId, namespaceId };
    const listing = listKeys(ctx.api, { ...address, prefix: prune.prefix, complete: false });
    for await (const listed of listing) this.#see(listed);
    if (this.#keys.length === 0 || ctx.api.now() / 1000 - writtenAt >= KV.CONSISTENCY_SECONDS) return this;
    const there = new Set<string>();
    for await (const { key } of readValues(ctx, { ...address, keys: this.#keys, withMetadata: false }))
      there.add(key);
    this.#keys = this.#keys.filter((key) => there.has(key));
    return this;
  }

  /** For the reviewer; undefined where there are none. */
  get sentence(): string | undefined {
    if (this.keys.length === 0) return undefined;
    const noun = this.keys.length === 1 ? "key" : "keys";
    return `${this.#who}: prune deletes ${count(this.keys.length)} ${noun} that others wrote: ${shown(this.keys)}`;
  }

  /** Why nothing may be deleted: there are more than `maxDeletes`. */
  get tooMany(): string | undefined {
    const { prune } = this.#pruning;
    const most = prune?.maxDeletes ?? MAX_PRUNED;
    if (this.keys.length <= most) return undefined;
    const noun = this.keys.length === 1 ? "key" : "keys";
    return (
      `prune would delete ${count(this.keys.length)} ${noun} of others under ${JSON.stringify(prune?.prefix ?? "")}; the limit is ${most}. ` +
      "Nothing was written. Raise prune.maxDeletes if that is meant, or choose a longer prefix."
    );
  }

  /** @throws where there are more than may be deleted. */
  refuseTooMany(): void {
    const { tooMany } = this;
    if (tooMany !== undefined) throw new Error(`${this.#who}: ${tooMany}`);
  }

  #see({ name }: ListedKey): void {
    const prefix = this.#pruning.prune?.prefix;
    if (prefix !== undefined && name.startsWith(prefix) && !this.#isKnown(name)) this.#keys.push(name);
  }
}
