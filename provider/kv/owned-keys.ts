import type { Context } from "../runtime/lifecycle";
import type { NamespaceAddress } from "./address";
import { decodeManifest, type Manifest } from "./manifest";

/** Gives a resource's keys. A manifest is only decoded when it's needed. */
type KeysReader = () => Promise<Pick<Manifest, "has">>;

/** The keys that the resources of this operation own in one namespace. */
export class OwnedKeys {
  readonly #readers: KeysReader[] = [];
  readonly #written: Manifest[] = [];

  /**
   * Adds a resource that's being written.
   *
   * @throws if a resource written earlier in this operation owns one of the keys: each would undo the other.
   */
  add(manifest: Manifest, rows: ReadonlyMap<string, unknown>): void {
    for (const key of rows.keys()) {
      if (!this.#written.some((other) => other.has(key))) continue;
      throw new Error(
        `Another KvEntries in this program also declares the key ${JSON.stringify(key)}. Nothing was written. Keep the key in one of them.`,
      );
    }
    this.#written.push(manifest);
    this.#readers.push(() => Promise.resolve(manifest));
  }

  /** Adds a resource that doesn't change. */
  addRecorded(encoded: string): void {
    let manifest: Promise<Manifest> | undefined;
    this.#readers.push(() => (manifest ??= decodeManifest(encoded)));
  }

  /** Adds keys that the program reads with `get`: the delete of entries that it declared before must not reach them. */
  addRead(keys: ReadonlySet<string>): void {
    this.#readers.push(() => Promise.resolve(keys));
  }

  /** Whether a resource other than the one with this manifest owns a key. */
  async byOthers(mine?: Manifest): Promise<(key: string) => boolean> {
    const all = await Promise.all(this.#readers.map((read) => read()));
    const others = all.filter((manifest) => manifest !== mine);
    return (key) => others.some((other) => other.has(key));
  }
}

export function ownedKeys(
  ctx: Pick<Context, "shared">,
  { accountId, namespaceId }: NamespaceAddress,
): OwnedKeys {
  return ctx.shared(`entries of ${accountId} ${namespaceId}`, () => new OwnedKeys());
}

/**
 * Keys that this operation deleted from a namespace: the listing still shows them for a while.
 * https://developers.cloudflare.com/kv/concepts/how-kv-works/
 */
export function deletedKeys(ctx: Pick<Context, "shared">, namespaceId: string): Set<string> {
  return ctx.shared(`deleted keys of ${namespaceId}`, () => new Set<string>());
}

/** Namespaces that this operation created: they have only the keys that it writes. */
export function createdNamespaces(ctx: Pick<Context, "shared">): Set<string> {
  return ctx.shared("created namespaces", () => new Set<string>());
}
