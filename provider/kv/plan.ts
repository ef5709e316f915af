import { isPast } from "./check-entry";
import { recordOf, sameRecord, type Entry } from "./entry";
import type { Manifest } from "./manifest";

/** An entry that has to be written, and whether its key is new. */
export interface Write {
  readonly entry: Entry;
  readonly kind: "add" | "change";
}

/** How many keys, and the first of them by name. */
export interface Tally {
  readonly count: number;
  readonly first: readonly string[];
}

export interface Changes {
  readonly added: Tally;
  readonly changed: Tally;
  readonly removed: Tally;
}

/**
 * Declared entries beside what the manifest says was written. Iterating gives what has to be written, and only that is
 * ever held; after the pass `removed` gives what is declared no more. The manifest may be brought up to date during the
 * pass, as batches are confirmed.
 *
 * An entry whose expiry has passed is neither written nor removed.
 */
export class Comparison implements AsyncIterable<Write> {
  readonly #declared: AsyncIterable<Entry>;
  readonly #manifest: Manifest;
  readonly #nowSeconds: number;
  readonly #added = new Counter();
  readonly #changed = new Counter();
  #declaredKeys: ReturnType<Manifest["track"]> | undefined;
  #unchanged = 0;
  #past = 0;
  #complete = false;

  constructor(declared: AsyncIterable<Entry>, manifest: Manifest, nowSeconds: number) {
    this.#declared = declared;
    this.#manifest = manifest;
    this.#nowSeconds = nowSeconds;
  }

  /** Can be taken once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Write> {
    if (this.#declaredKeys !== undefined) throw new Error("a comparison can be read once");
    this.#declaredKeys = this.#manifest.track();
    for await (const entry of this.#declared) {
      const written = this.#declaredKeys.see(entry.key);
      if (isPast(entry, this.#nowSeconds)) {
        this.#past += 1;
      } else if (written === undefined) {
        this.#added.add(entry.key);
        yield { entry, kind: "add" };
      } else if (sameRecord(recordOf(entry), written)) {
        this.#unchanged += 1;
      } else {
        this.#changed.add(entry.key);
        yield { entry, kind: "change" };
      }
    }
    this.#complete = true;
  }

  /** Runs the pass for its counts alone. */
  async finish(): Promise<Changes> {
    const pass = this[Symbol.asyncIterator]();
    while ((await pass.next()).done !== true);
    return this.changes();
  }

  /** Keys that were written and are declared no more. Of use after the pass alone. */
  *removed(): Generator<string> {
    if (this.#declaredKeys === undefined || !this.#complete)
      throw new Error("what is removed is known once every declared entry was seen");
    yield* this.#declaredKeys.unseen();
  }

  changes(): Changes {
    const removed = new Counter();
    for (const key of this.removed()) removed.add(key);
    return { added: this.#added, changed: this.#changed, removed };
  }

  /** Entries that are as they were written. */
  get unchanged(): number {
    return this.#unchanged;
  }

  /** Entries left out because their expiry has passed. */
  get past(): number {
    return this.#past;
  }
}

export function compare(
  declared: AsyncIterable<Entry>,
  manifest: Manifest,
  nowSeconds = Date.now() / 1000,
): Comparison {
  return new Comparison(declared, manifest, nowSeconds);
}

const SHOWN_KEYS = 10;
const SHOWN_KEY_CHARACTERS = 60;

class Counter implements Tally {
  readonly first: string[] = [];
  count = 0;

  add(key: string): void {
    this.count += 1;
    if (this.first.length < SHOWN_KEYS) this.first.push(key);
  }
}

/**
 * The reviewer's line: `KvEntries 0f2a…: +12 ~3 -1 (a, b, c …)`. Ten keys at most; each kind of change is represented,
 * in the order of the counts.
 */
export function line(namespace: string, { added, changed, removed }: Changes): string {
  const kinds = [added, changed, removed];
  // Round by round one key of each kind, so that twelve new keys do not hide the one that goes.
  const shares = kinds.map(() => 0);
  const sum = (): number => shares.reduce((a, b) => a + b, 0);
  for (let round = 1; round <= SHOWN_KEYS; round += 1) {
    kinds.forEach(({ first }, kind) => {
      if (first.length >= round && sum() < SHOWN_KEYS) shares[kind] = round;
    });
  }
  const shown = kinds.flatMap(({ first }, kind) => first.slice(0, shares[kind]).map(cut));
  const total = added.count + changed.count + removed.count;
  const names = shown.length === 0 ? "" : ` (${shown.join(", ")}${total > shown.length ? " …" : ""})`;
  return `KvEntries ${namespace}: +${added.count} ~${changed.count} -${removed.count}${names}`;
}

function cut(key: string): string {
  return key.length <= SHOWN_KEY_CHARACTERS ? key : `${key.slice(0, SHOWN_KEY_CHARACTERS)}…`;
}
