import type { Context } from "../runtime/lifecycle";
import type { NamespaceAddress } from "./address";
import { quoteKey } from "./entry";

/** A resource's keys. */
export type Keys = Pick<ReadonlyMap<string, unknown>, "has" | "keys">;

/** Returns a resource's keys. A recorded manifest is decoded only when it's needed. */
type KeysReader = () => Promise<Keys>;

/** What one `KvEntries` of the program declares. */
interface Declaration {
  readonly name: string;
  /** The namespace, in messages. */
  readonly where: string;
  /** The prefix that the resource prunes. */
  readonly prefix: string | undefined;
  /** Whether the names of its keys are secret. */
  readonly isSecret: boolean;
  readonly keys: KeysReader;
}

/**
 * What this operation knows about the keys of one namespace. It's kept in memory, because there may be many keys: of
 * resources with other providers, it's only known whether there are any.
 */
class NamespaceKeys {
  /**
   * Keys that this operation deleted. The listing still shows them for a while.
   * https://developers.cloudflare.com/kv/concepts/how-kv-works/
   */
  readonly deleted = new Set<string>();
  /** Whether this operation created the namespace. If so, it contains only keys that the operation wrote. */
  isCreated = false;
  readonly #declared = new Map<string, Declaration>();
  readonly #owned: KeysReader[] = [];

  /**
   * Adds a resource that the program declares. Returns how it contradicts a resource that was added before: both declare
   * the same key, or one would prune (delete) a key that the other declares.
   *
   * @param holder identifies the resource, because a replacement is checked twice.
   */
  async declare(holder: string, mine: Declaration): Promise<string | undefined> {
    this.#declared.set(holder, { ...mine, keys: readOnce(mine.keys) });
    for (const [other, theirs] of [...this.#declared]) {
      const problem = other === holder ? undefined : await contradiction(theirs, mine);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  /** Adds the keys of a resource that this operation writes or leaves unchanged. */
  own(keys: KeysReader): void {
    this.#owned.push(readOnce(keys));
  }

  /** Returns a predicate for the keys that the resources of this process own, without the one with the keys `mine`. */
  async ownedBesides(mine: Keys | undefined): Promise<(key: string) => boolean> {
    const all = await Promise.all(this.#owned.map((read) => read()));
    const others = all.filter((keys) => keys !== mine);
    return (key) => others.some((other) => other.has(key));
  }
}

function readOnce(read: KeysReader): KeysReader {
  let keys: Promise<Keys> | undefined;
  return () => (keys ??= read());
}

export function keysOf(
  ctx: Pick<Context, "once">,
  { accountId, namespaceId }: NamespaceAddress,
): NamespaceKeys {
  return ctx.once(`keys of ${accountId} ${namespaceId}`, () => new NamespaceKeys());
}

/** Returns a predicate for keys that another resource owns or may own: any but the one with the keys `mine`. */
export async function ownedElsewhere(
  ctx: Pick<Context, "once" | "othersHold" | "say">,
  address: NamespaceAddress,
  mine?: Keys,
): Promise<(key: string) => boolean> {
  const { namespaceId } = address;
  if (!hasOtherProviders(ctx, namespaceId)) return await keysOf(ctx, address).ownedBesides(mine);
  ctx.say.warn(
    `namespace ${namespaceId}: several KvEntries with different providers write to this namespace, so keys that you remove from the program aren't deleted. ` +
      "Use the same provider for all of them, and delete the removed keys with `edgeguard kv bulk delete`.",
  );
  return () => true;
}

/**
 * Whether a `KvEntries` with another provider writes to the namespace in this operation. Such a resource's ID starts with
 * the namespace's ID.
 */
export function hasOtherProviders(ctx: Pick<Context, "othersHold">, namespaceId: string): boolean {
  return ctx.othersHold(namespaceId);
}

async function contradiction(one: Declaration, other: Declaration): Promise<string | undefined> {
  const [ones, others] = [await one.keys(), await other.keys()];
  for (const [owner, declarer, keys] of [
    [one, other, others],
    [other, one, ones],
  ] as const) {
    const { prefix } = owner;
    const pruned = prefix === undefined ? undefined : first(keys, (key) => key.startsWith(prefix));
    if (pruned !== undefined)
      return (
        `KvEntries "${owner.name}" prunes the prefix ${JSON.stringify(prefix)} in ${owner.where}, so it would delete ${quoteKey(pruned, declarer.isSecret)}, which KvEntries "${declarer.name}" declares. ` +
        `Move all keys under the prefix to "${owner.name}", or choose a longer prefix.`
      );
  }
  const shared = first(others, (key) => ones.has(key));
  if (shared === undefined) return undefined;
  return `KvEntries "${one.name}" and "${other.name}" both declare the key ${quoteKey(shared, one.isSecret || other.isSecret)} in ${one.where}. Declare it in only one of them.`;
}

function first(keys: Keys, matches: (key: string) => boolean): string | undefined {
  for (const key of keys.keys()) if (matches(key)) return key;
  return undefined;
}
