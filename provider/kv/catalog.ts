import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { entryBytes, isShorterAsBase64, type Body } from "./batches";
import {
  checkEntry,
  isPast,
  placeOf,
  recordOf,
  type Entry,
  type EntryDefaults,
  type EntryText,
  type Given,
  type Place,
  type Recorded,
  type Sound,
} from "./entry";
import { SourceError } from "./source-handle";

/** Entries that can be sent. Their values are fetched from the source whenever a body is made. */
export interface Writable {
  /** @throws SourceError where the source is no longer what was checked. */
  fill(body: Body, rows: readonly Row[]): Promise<void>;
}

/** Declared entries, to be read as often as needed. */
export interface Source extends Writable {
  readonly kind: "entries" | "file" | "directory";
  /** What messages call it: the path as it was declared, or `entries`. */
  readonly name: string;
  readonly defaults: EntryDefaults;
  /** Every entry, some at a time. A file is held open from then on. @throws SourceError where nothing more can be read. */
  read(): Iterable<readonly Given[]> | AsyncIterable<readonly Given[]>;
  /** Keys alone, where that takes less than to read the entries. @throws SourceError */
  keys?(): AsyncIterable<readonly string[]>;
  /** Of a file's bytes as they are, 64 hexadecimal digits. */
  sha256?(): Promise<string>;
  /** The same, of the bytes that `read` has found. */
  readonly readSha256?: string | undefined;
  close?(): Promise<void>;
}

/** A source of entries in a few lines: what the inputs of a KvEntries show in place of the entries. */
export interface Summary {
  readonly keys: number;
  /** Bytes of all values as Cloudflare stores them. */
  readonly bytes: number;
  /** 64 hexadecimal digits, the same for the same entries in whatever order, file or encoding. */
  readonly digest: string;
  /** The first ten sentences, then how many more. With any of them nothing may be sent. */
  readonly problems: readonly string[];
  /** Entries whose expiry has passed: never sent. */
  readonly expired: number;
  /** The first ten sentences, then how many more. */
  readonly warnings: readonly string[];
}

/**
 * What a declared key is to hold, and what is needed to send it. When a lifetime ends is known when it is written. One
 * flat object: there may be a million of them.
 */
export interface Row extends Recorded {
  readonly key: string;
  /** The entry, where it is held. */
  readonly entry?: Entry | undefined;
  /** In a bulk file: which entry, counted from 1, and the line on which it begins. */
  readonly position: number | undefined;
  readonly line: number | undefined;
  /** Where its text stands in the file, in bytes. */
  readonly start: number | undefined;
  readonly end: number | undefined;
  /** Whether that text is what is sent. */
  readonly isAsIs: boolean;
  /** Bytes of the entry in the body of a bulk write. */
  readonly sentBytes: number;
  /** Whether the value is not text. */
  readonly isBinary: boolean;
}

/** Declared entries, as far as they were read. */
export interface Catalog extends Summary {
  /** By key, in the order of the source. */
  readonly rows: ReadonlyMap<string, Row>;
  /** Whether it holds the entries themselves, as those of a program are at hand anyway. */
  readonly isHeld: boolean;
  /** Of the file that the entries were read from; undefined for other sources. */
  readonly sha256: string | undefined;
  /** What ended the reading early, as the last of the problems says. */
  readonly broken: SourceError | undefined;
}

/** Reads the source once, and lets go of it. */
export async function catalogOf(source: Source, nowSeconds?: number): Promise<Catalog> {
  try {
    return await readCatalog(source, nowSeconds);
  } finally {
    await source.close?.();
  }
}

/** Reads the source once. Never throws for what is wrong with the source: that is among the problems. */
export async function readCatalog(source: Source, nowSeconds = Date.now() / 1000): Promise<Catalog> {
  const problems = new FirstFew("problem");
  const warnings = new FirstFew("warning");
  const rows = new Map<string, Row>();
  /** Of the first entries of their key that are wrong. */
  const refused = new Map<string, Place>();
  const counts = { keys: 0, bytes: 0, expired: 0 };
  const isHeld = source.kind === "entries";

  const add = (given: Given): void => {
    // 1. A bad entry has its place as well.
    const key = typeof given.key === "string" ? given.key : undefined;
    const first = key === undefined ? undefined : (rows.get(key) ?? refused.get(key));
    if (first !== undefined)
      problems.add(
        `${placeOf(given.place, key)}: the key stands in entry ${first.position} (line ${first.line}) already; keep one of the two`,
      );
    // 2. The entry itself.
    const checked = checkEntry(given, source.defaults);
    if ("problems" in checked) {
      if (key !== undefined && first === undefined) refused.set(key, given.place);
      checked.problems.forEach((problem) => problems.add(problem));
      return;
    }
    const { entry, stored } = checked;
    checked.warnings.forEach((warning) => warnings.add(warning));
    counts.keys += 1;
    counts.bytes += Buffer.byteLength(stored);
    if (isPast(entry, nowSeconds)) counts.expired += 1;
    if (first === undefined) rows.set(entry.key, rowOf(given, checked, isHeld));
  };

  let broken: SourceError | undefined;
  try {
    for await (const some of source.read()) some.forEach(add);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    broken = error;
  }
  return {
    ...counts,
    digest: digestOf(rows),
    problems: [...problems.lines(), ...(broken === undefined ? [] : [broken.message])],
    warnings: warnings.lines(),
    rows,
    isHeld,
    sha256: source.readSha256,
    broken,
  };
}

function rowOf(given: Given, { entry, stored }: Sound, isHeld: boolean): Row {
  const { value, metadata, expiration, ttl } = recordOf(entry, stored);
  const text = "text" in given ? given.text : undefined;
  const isAsIs = text !== undefined && saysJust(entry, given, text);
  return {
    key: entry.key,
    value,
    metadata,
    expiration,
    ttl,
    entry: isHeld ? entry : undefined,
    position: given.place.position,
    line: given.place.line,
    start: text?.offset,
    end: text && text.offset + text.bytes,
    isAsIs,
    sentBytes: isAsIs ? text.bytes : entryBytes(entry),
    isBinary: typeof stored !== "string" && !isUtf8(stored),
  };
}

/** Of everything the entries say: keys, stored bytes, metadata and when they end. Their order has no influence. */
function digestOf(rows: ReadonlyMap<string, Row>): string {
  const hash = createHash("sha256");
  for (const key of [...rows.keys()].sort()) {
    const row = rows.get(key);
    hash.update(JSON.stringify([key, row?.value, row?.metadata, row?.expiration, row?.ttl]));
  }
  return hash.digest("hex");
}

const SHOWN_LINES = 10;

/** The first ten sentences, and how many more there are. */
class FirstFew {
  readonly #what: string;
  readonly #lines: string[] = [];
  #count = 0;

  constructor(what: string) {
    this.#what = what;
  }

  add(line: string): void {
    this.#count += 1;
    if (this.#lines.length < SHOWN_LINES) this.#lines.push(line);
  }

  lines(): string[] {
    const more = this.#count - this.#lines.length;
    return more === 0
      ? this.#lines
      : [...this.#lines, `and ${more} more ${this.#what}${more === 1 ? "" : "s"}`];
  }
}

const AS_IS_MEMBERS: readonly string[] = ["key", "value", "base64", "metadata"];

/** Whether the text in the file says just what Cloudflare is to be told: nothing is added to it or left out. */
function saysJust(entry: Entry, given: Given, text: EntryText): boolean {
  if (!("members" in given)) return false;
  const { members } = given;
  return (
    (entry.base64 || !isShorterAsBase64(entry.value)) &&
    entry.expirationTtl === undefined &&
    entry.metadata === members["metadata"] &&
    Object.keys(members).every((name) => AS_IS_MEMBERS.includes(name) && members[name] !== null) &&
    countMembers(members) === text.members // A member written twice means one thing here, and perhaps another there.
  );
}

function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, member) => sum + countMembers(member), own);
}
