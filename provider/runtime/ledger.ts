/** What a resource of this operation does with a real object. */
export type Holding =
  /** Created or adopted. */
  | "made"
  /** Updated. */
  | "changed"
  /** The update, or a replacement that the engine prefers, is still to come. */
  | "changing"
  /** Declared as it is recorded. */
  | "unchanged";

/**
 * Which real objects the resources of this operation hold. A rename without alias, or a move between components, looks to
 * the engine like a new resource and a later delete of the same object. That delete must not reach the object that the new
 * resource just adopted. Nor may a create adopt what another resource in the program holds.
 */
export class Ledger {
  readonly #holdings = new Map<string, Holding>();
  readonly #read = new Set<string>();

  enter(type: string, id: string, holding: Holding): void {
    if (this.holding(type, id) === "made") return; // A create keeps its object, whatever other resources recorded.
    this.#holdings.set(`${type} ${id}`, holding);
  }

  /**
   * Enters an object that the program reads with `get`. Where it declared the object before, the engine deletes the former
   * resource.
   */
  enterRead(type: string, id: string): void {
    this.#read.add(`${type} ${id}`);
  }

  /** Why the delete of a former resource must not reach the object; undefined if it may. */
  whyKept(type: string, id: string): "adopted" | "read" | undefined {
    const holding = this.holding(type, id);
    if (holding !== undefined && holding !== "changing") return "adopted";
    return this.#read.has(`${type} ${id}`) ? "read" : undefined;
  }

  holding(type: string, id: string): Holding | undefined {
    return this.#holdings.get(`${type} ${id}`);
  }
}
