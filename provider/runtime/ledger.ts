/** How a resource of this operation stands to a real object. */
export type Holding =
  /** Made or adopted by a create. */
  | "made"
  /** Changed by an update. */
  | "changed"
  /** To be changed: the update, or a replacement that the engine prefers, is still to come. */
  | "changing"
  /** Declared as it is recorded. */
  | "unchanged";

/**
 * Which real objects the resources of this operation hold. A rename without alias, a move between modules or a split is,
 * to the engine, a new resource and a later delete of the same real object: that delete must not reach the object its
 * successor has just taken over. Nor may a create adopt what another resource of the program holds.
 */
export class Ledger {
  readonly #holdings = new Map<string, Holding>();

  enter(type: string, id: string, holding: Holding): void {
    if (this.holding(type, id) === "made") return; // What a create has taken is taken, whatever others had recorded.
    this.#holdings.set(`${type} ${id}`, holding);
  }

  /** Whether the object has been handed over: the delete of a predecessor may not reach it. */
  keeps(type: string, id: string): boolean {
    const holding = this.holding(type, id);
    return holding !== undefined && holding !== "changing";
  }

  holding(type: string, id: string): Holding | undefined {
    return this.#holdings.get(`${type} ${id}`);
  }
}
