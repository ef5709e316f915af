import type { Context } from "../runtime/lifecycle";
import type { NamespaceAddress } from "./address";
import { decodeManifest, type Manifest } from "./manifest";

/** Returns a resource's keys. A manifest is decoded only when it's needed. */
type KeysReader = () => Promise<Pick<Manifest, "has">>;

/** The keys that the resources of this operation own in one namespace. */
export class OwnedKeys {
  readonly #readers: KeysReader[] = [];
  readonly #written: Manifest[] = [];
  readonly #read: ReadonlySet<string>[] = [];
  readonly #othersHold: () => boolean;

  /**
   * @param othersHold whether a resource with another provider has entries in the namespace. Their keys aren't known
   * here.
   */
  constructor(othersHold: () => boolean) {
    this.#othersHold = othersHold;
  }

  /**
   * Adds a resource that's being written.
   *
   * @throws if a resource written earlier in this operation owns one of the keys, because each would undo the other's
   * writes.
   */
  add(manifest: Manifest, rows: ReadonlyMap<string, unknown>): void {
    for (const key of rows.keys()) {
      if (!this.#written.some((other) => other.has(key))) continue;
      throw new Error(
        `Another KvEntries in this program also declares the key ${JSON.stringify(key)}. Nothing was written. Declare the key in only one of them.`,
      );
    }
    this.#written.push(manifest);
    this.#readers.push(() => Promise.resolve(manifest));
  }

  /** Adds a resource that this operation doesn't change. */
  addRecorded(encoded: string): void {
    let manifest: Promise<Manifest> | undefined;
    this.#readers.push(() => (manifest ??= decodeManifest(encoded)));
  }

  /**
   * Adds the keys that the program reads with `KvEntries.get`. It doesn't own these keys, but they're kept if a whole
   * `KvEntries` is deleted, because the `get` may have replaced that resource in the program.
   */
  addRead(keys: ReadonlySet<string>): void {
    this.#read.push(keys);
  }

  /** Whether the program reads a key with `get`. */
  isRead(key: string): boolean {
    return this.#read.some((keys) => keys.has(key));
  }

  /** Returns a predicate for keys that another resource owns or may own: any but the one with the manifest `mine`. */
  async byOthers(mine?: Manifest): Promise<(key: string) => boolean> {
    if (this.#othersHold()) return () => true;
    const all = await Promise.all(this.#readers.map((read) => read()));
    const others = all.filter((manifest) => manifest !== mine);
    return (key) => others.some((other) => other.has(key));
  }
}

export function ownedKeys(
  ctx: Pick<Context, "shared" | "othersHold" | "warnOnce">,
  { accountId, namespaceId }: NamespaceAddress,
): OwnedKeys {
  const othersHold = (): boolean => {
    if (!hasOtherProviders(ctx, namespaceId)) return false;
    ctx.warnOnce(
      `namespace ${namespaceId}: several KvEntries with different providers write to this namespace, so keys that you remove from the program aren't deleted. ` +
        "Use the same provider for all of them, and delete the removed keys with `edgeguard kv bulk delete`.",
    );
    return true;
  };
  const make = (): OwnedKeys => new OwnedKeys(othersHold);
  return ctx.shared(`entries of ${accountId} ${namespaceId}`, make);
}

/**
 * Whether a `KvEntries` with another provider writes to the namespace in this operation. Such a resource's ID starts with
 * the namespace's ID.
 */
export function hasOtherProviders(ctx: Pick<Context, "othersHold">, namespaceId: string): boolean {
  return ctx.othersHold(`${namespaceId}/`);
}

/**
 * Returns the keys that this operation deleted from a namespace. The listing still shows them for a while.
 * https://developers.cloudflare.com/kv/concepts/how-kv-works/
 */
export function deletedKeys(ctx: Pick<Context, "shared">, namespaceId: string): Set<string> {
  return ctx.shared(`deleted keys of ${namespaceId}`, () => new Set<string>());
}

/** Returns the namespaces that this operation created. They contain only keys that the operation wrote. */
export function createdNamespaces(ctx: Pick<Context, "shared">): Set<string> {
  return ctx.shared("created namespaces", () => new Set<string>());
}
