/**
 * What this operation made, changed or adopted. A rename without alias, a move between modules or a split is, to the
 * engine, a new resource and a later delete of the same real object: that delete must not reach the object its successor
 * has just taken over.
 */
export class Ledger {
  readonly #entries = new Set<string>();

  enter(type: string, id: string): void {
    this.#entries.add(`${type} ${id}`);
  }

  has(type: string, id: string): boolean {
    return this.#entries.has(`${type} ${id}`);
  }
}
