import type { Context } from "../runtime/lifecycle";
import type { NamespaceAddress } from "./address";
import { decodeManifest, type Manifest } from "./manifest";

/** What a resource of this operation holds; read only when somebody asks. */
type Holder = () => Promise<Manifest>;

/** The keys that resources of this operation hold in one namespace. */
export class HeldKeys {
  readonly #holders: Holder[] = [];
  readonly #written: Manifest[] = [];

  /**
   * Of a resource that is being written.
   *
   * @throws where another one that was written in this operation has a declared key: each would undo the other.
   */
  add(manifest: Manifest, rows: ReadonlyMap<string, unknown>): void {
    for (const key of rows.keys()) {
      if (!this.#written.some((other) => other.has(key))) continue;
      throw new Error(
        `Another KvEntries of this program declares the key ${JSON.stringify(key)}, too: keep it in one of them. Nothing was written.`,
      );
    }
    this.#written.push(manifest);
    this.#holders.push(() => Promise.resolve(manifest));
  }

  /** Of a resource that is kept as it is recorded. */
  addRecorded(encoded: string): void {
    let manifest: Promise<Manifest> | undefined;
    this.#holders.push(() => (manifest ??= decodeManifest(encoded)));
  }

  /** Whether another resource than the one with this manifest holds a key. */
  async byOthers(mine?: Manifest): Promise<(key: string) => boolean> {
    const all = await Promise.all(this.#holders.map((read) => read()));
    const others = all.filter((manifest) => manifest !== mine);
    return (key) => others.some((other) => other.has(key));
  }
}

export function heldKeys(
  ctx: Pick<Context, "shared">,
  { accountId, namespaceId }: NamespaceAddress,
): HeldKeys {
  return ctx.shared(`entries of ${accountId} ${namespaceId}`, () => new HeldKeys());
}

/** Keys of a namespace that this operation has deleted: the listing shows them for a while yet (facts 9, consistency). */
export function deletedKeys(ctx: Pick<Context, "shared">, namespaceId: string): Set<string> {
  return ctx.shared(`deleted keys of ${namespaceId}`, () => new Set<string>());
}

/** Namespaces that this operation has made: they hold nothing but what it writes. */
export function madeNamespaces(ctx: Pick<Context, "shared">): Set<string> {
  return ctx.shared("namespaces made", () => new Set<string>());
}
