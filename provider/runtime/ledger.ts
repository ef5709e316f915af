import { strongest, type Holding, type LedgerJournal } from "./ledger-journal";

export type { Holding };

/** The prefix of the journal entry for an object that the program reads with `get`. */
const READ = "read ";

/**
 * Tracks which real objects the resources in this operation manage. To the engine, a rename without an alias, or a move
 * between components, looks like a new resource and a later delete of the same object. That delete must not remove the
 * object that the new resource just adopted. A create must not adopt an object that another resource in the program
 * manages.
 */
export class Ledger {
  readonly #holdings = new Map<string, Holding>();
  readonly #read = new Set<string>();
  readonly #journal: LedgerJournal | undefined;

  /** @param journal shared with the operation's other provider processes. Undefined if there are none. */
  constructor(journal?: LedgerJournal) {
    this.#journal = journal;
  }

  enter(type: string, id: string, holding: Holding): void {
    if (this.holding(type, id) === "made") return; // A create's claim outweighs later records.
    this.#holdings.set(`${type} ${id}`, holding);
    this.#journal?.write(`${type} ${id}`, holding);
  }

  /**
   * Records that the program reads an object with `get`. If the program used to declare the object, the engine deletes
   * that resource.
   */
  enterRead(type: string, id: string): void {
    this.#read.add(`${type} ${id}`);
    this.#journal?.write(`${READ}${type} ${id}`, "unchanged");
  }

  /**
   * Returns why the object must be kept when a resource that used to manage it is deleted. Undefined if the object may
   * be deleted.
   */
  whyKept(type: string, id: string): "adopted" | "read" | undefined {
    const holding = this.holding(type, id);
    if (holding !== undefined && holding !== "changing") return "adopted";
    const object = `${type} ${id}`;
    return this.#read.has(object) || this.#journal?.ofOthers(READ + object) !== undefined
      ? "read"
      : undefined;
  }

  /** Whether another provider's resource manages or reads an object whose ID begins with this prefix. */
  othersHold(type: string, idPrefix: string): boolean {
    const objects = `${type} ${idPrefix}`;
    return [objects, READ + objects].some((prefix) => this.#journal?.othersHold(prefix) === true);
  }

  holding(type: string, id: string): Holding | undefined {
    const object = `${type} ${id}`;
    return strongest([this.#holdings.get(object), this.#journal?.ofOthers(object)]);
  }
}
