import { strongest, type Holding, type LedgerJournal } from "./ledger-journal";

export type { Holding };

/** Begins the journal's entry of an object that the program reads with `get`. */
const READ = "read ";

/**
 * Which real objects the resources of this operation hold. A rename without alias, or a move between components, looks to
 * the engine like a new resource and a later delete of the same object. That delete must not reach the object that the new
 * resource just adopted. Nor may a create adopt what another resource in the program holds.
 */
export class Ledger {
  readonly #holdings = new Map<string, Holding>();
  readonly #read = new Set<string>();
  readonly #journal: LedgerJournal | undefined;

  /** @param journal of an operation with several provider processes. */
  constructor(journal?: LedgerJournal) {
    this.#journal = journal;
  }

  enter(type: string, id: string, holding: Holding): void {
    if (this.holding(type, id) === "made") return; // A create keeps its object, whatever other resources recorded.
    this.#holdings.set(`${type} ${id}`, holding);
    this.#journal?.write(`${type} ${id}`, holding);
  }

  /**
   * Enters an object that the program reads with `get`. Where it declared the object before, the engine deletes the former
   * resource.
   */
  enterRead(type: string, id: string): void {
    this.#read.add(`${type} ${id}`);
    this.#journal?.write(`${READ}${type} ${id}`, "unchanged");
  }

  /** Why the delete of a former resource must not reach the object; undefined if it may. */
  whyKept(type: string, id: string): "adopted" | "read" | undefined {
    const holding = this.holding(type, id);
    if (holding !== undefined && holding !== "changing") return "adopted";
    const object = `${type} ${id}`;
    return this.#read.has(object) || this.#journal?.ofOthers(READ + object) !== undefined
      ? "read"
      : undefined;
  }

  /** Whether a resource of another provider holds or reads an object whose ID begins so. */
  othersHold(type: string, idPrefix: string): boolean {
    const objects = `${type} ${idPrefix}`;
    return [objects, READ + objects].some((prefix) => this.#journal?.othersHold(prefix) === true);
  }

  holding(type: string, id: string): Holding | undefined {
    const object = `${type} ${id}`;
    return strongest([this.#holdings.get(object), this.#journal?.ofOthers(object)]);
  }
}
