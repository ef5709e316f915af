import type { Catalog } from "./catalog";
import { isPast } from "./check-entry";
import type { Manifest } from "./manifest";

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

/** What brings a namespace from what was written to what is declared. */
export interface Plan extends Changes {
  /** Rows of the catalog to be written. */
  readonly writes: readonly number[];
  /** Keys that were written and are declared no more. */
  readonly removedKeys: readonly string[];
  /** Entries that are as they were written. */
  readonly unchanged: number;
  /** Entries left out because their expiry has passed: they are neither written nor removed. */
  readonly past: number;
}

/** Declared entries beside what the manifest says was written. */
export function compare(
  { records }: Pick<Catalog, "records">,
  manifest: Manifest,
  nowSeconds = Date.now() / 1000,
): Plan {
  const seen = new Uint8Array(manifest.rows);
  const [added, changed, removed] = [new Counter(), new Counter(), new Counter()];
  const writes: number[] = [];
  let [unchanged, past] = [0, 0];
  for (let row = 0; row < records.rows; row += 1) {
    const written = manifest.rowOf(records, row);
    if (written !== -1) seen[written] = 1;
    const expiration = records.expiration(row);
    if (!Number.isNaN(expiration) && isPast({ expiration }, nowSeconds)) past += 1;
    else if (written !== -1 && manifest.isWritten(records, row, written)) unchanged += 1;
    else {
      (written === -1 ? added : changed).add(() => records.key(row));
      writes.push(row);
    }
  }
  const removedKeys = [...manifest.unseen(seen)];
  for (const key of removedKeys) removed.add(() => key);
  return { writes, removedKeys, added, changed, removed, unchanged, past };
}

const SHOWN_KEYS = 10;
const SHOWN_KEY_CHARACTERS = 60;

class Counter implements Tally {
  readonly first: string[] = [];
  count = 0;

  add(key: () => string): void {
    this.count += 1;
    if (this.first.length < SHOWN_KEYS) this.first.push(key());
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

/** The first ten keys, quoted, for a sentence. */
export function shown(keys: readonly string[]): string {
  const first = keys.slice(0, SHOWN_KEYS).map((key) => JSON.stringify(key));
  return `${first.join(", ")}${keys.length > SHOWN_KEYS ? ", …" : ""}`;
}
