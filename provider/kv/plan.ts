import type { Catalog, Row } from "./catalog";
import { isPast, type Recorded } from "./entry";
import type { Manifest } from "./manifest";

/** Keys by what becomes of them. */
export interface Changes {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  /** Those that were written and are declared no more. */
  readonly removed: readonly string[];
}

/** What brings a namespace from what was written to what is declared. */
export interface Plan extends Changes {
  /** What is added and changed, in the order of the catalog. */
  readonly writes: readonly Row[];
  /** Entries that are as they were written. */
  readonly unchanged: number;
  /** Entries left out because their expiry has passed: they are neither written nor removed. */
  readonly past: number;
}

/** Declared entries beside what the manifest says was written. */
export function compare(
  { rows }: Pick<Catalog, "rows">,
  manifest: Manifest,
  nowSeconds = Date.now() / 1000,
): Plan {
  const [writes, added, changed]: [Row[], string[], string[]] = [[], [], []];
  let [unchanged, past] = [0, 0];
  for (const row of rows.values()) {
    const written = manifest.get(row.key);
    if (isPast(row, nowSeconds)) past += 1;
    else if (written !== undefined && isAsWritten(row, written)) unchanged += 1;
    else {
      (written === undefined ? added : changed).push(row.key);
      writes.push(row);
    }
  }
  const removed = [...manifest.keys()].filter((key) => !rows.has(key));
  return { writes, added, changed, removed, unchanged, past };
}

/** Whether an entry needs no write. A lifetime is renewed only when its own entry changes. */
function isAsWritten(declared: Recorded, written: Recorded): boolean {
  return (
    declared.value === written.value &&
    declared.metadata === written.metadata &&
    declared.ttl === written.ttl &&
    (declared.ttl !== undefined || declared.expiration === written.expiration)
  );
}

const SHOWN_KEYS = 10;
const SHOWN_KEY_CHARACTERS = 60;

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
    kinds.forEach((keys, kind) => {
      if (keys.length >= round && sum() < SHOWN_KEYS) shares[kind] = round;
    });
  }
  const shown = kinds.flatMap((keys, kind) => keys.slice(0, shares[kind]).map(cut));
  const total = added.length + changed.length + removed.length;
  const names = shown.length === 0 ? "" : ` (${shown.join(", ")}${total > shown.length ? " …" : ""})`;
  return `KvEntries ${namespace}: +${added.length} ~${changed.length} -${removed.length}${names}`;
}

function cut(key: string): string {
  return key.length <= SHOWN_KEY_CHARACTERS ? key : `${key.slice(0, SHOWN_KEY_CHARACTERS)}…`;
}

/** The first ten keys, quoted, for a sentence. */
export function shown(keys: readonly string[]): string {
  const first = keys.slice(0, SHOWN_KEYS).map((key) => JSON.stringify(key));
  return `${first.join(", ")}${keys.length > SHOWN_KEYS ? ", …" : ""}`;
}
