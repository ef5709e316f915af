import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { entryBytes, type Body } from "./batches";
import {
  checkEntry,
  isExpired,
  describePlace,
  recordOf,
  type Entry,
  type EntryDefaults,
  type RawEntry,
  type Place,
  type RecordedEntry,
  type ValidEntry,
} from "./entry";
import { SourceError } from "./source-handle";
import { pluralize } from "../basics/words";

/** Entries that can be written. Their values are read from the source when a request body is built. */
export interface Writable {
  /** @throws SourceError if the source changed since it was checked. */
  fill(body: Body, rows: readonly Row[]): Promise<void>;
}

/** Declared entries. They can be read more than once. */
export interface Source extends Writable {
  readonly kind: "entries" | "file" | "directory";
  /** The source's name in messages: its path as declared, or `entries`. */
  readonly name: string;
  readonly defaults: EntryDefaults;
  /**
   * Yields every entry, in chunks. If the source is a file, it stays open from then on. @throws SourceError if a read
   * fails partway.
   */
  read(): Iterable<readonly RawEntry[]> | AsyncIterable<readonly RawEntry[]>;
  /** SHA-256 of a file's bytes: 64 hex digits. */
  sha256?(): Promise<string>;
  /** SHA-256 of the bytes that `read` returned. */
  readonly readSha256?: string | undefined;
  close?(): Promise<void>;
}

/** A summary of a source. The inputs of a `KvEntries` contain this summary instead of the entries. */
export interface Summary {
  readonly keys: number;
  /** The total size of the values as Cloudflare stores them. */
  readonly bytes: number;
  /**
   * A digest of 64 hex digits. The same entries always have the same digest, regardless of their order, file or
   * encoding.
   */
  readonly digest: string;
  /** The first ten problems, and how many more there are. If there are any, nothing is sent. */
  readonly problems: readonly string[];
  /** The number of expired entries, which are never written. */
  readonly expired: number;
}

/**
 * A declared entry, and what's needed to send it. An entry with a TTL gets its expiration only when it's written. The
 * object is flat to save memory, because there may be a million of them.
 */
export interface Row extends RecordedEntry {
  readonly key: string;
  /** The entry itself, if it's already in memory. */
  readonly entry?: Entry | undefined;
  /** The entry's number in a bulk file, counted from 1. */
  readonly position: number | undefined;
  /** The line of a bulk file on which the entry begins. */
  readonly line: number | undefined;
  /** The byte offset in the file at which the entry's text starts. */
  readonly start: number | undefined;
  readonly end: number | undefined;
  /** The entry's size in the body of a bulk write. */
  readonly sentBytes: number;
  /** Whether the value isn't UTF-8 text. */
  readonly isBinary: boolean;
}

/** The declared entries that could be read. */
export interface Catalog extends Summary {
  /** The entries by key, in the order of the source. */
  readonly rows: ReadonlyMap<string, Row>;
  /** Whether the rows contain the entries themselves. Inline entries are already in memory. */
  readonly isInMemory: boolean;
  /** SHA-256 of the file. Undefined for other sources. */
  readonly sha256: string | undefined;
}

/** Reads the source once and closes it. */
export async function catalogOf(source: Source, nowSeconds?: number): Promise<Catalog> {
  try {
    return await readCatalog(source, nowSeconds);
  } finally {
    await source.close?.();
  }
}

/**
 * Reads the source once. Adds read errors to `problems` instead of throwing them.
 *
 * @param isSecret whether the names of keys are secret.
 */
export async function readCatalog(
  source: Source,
  nowSeconds = Date.now() / 1000,
  isSecret = false,
): Promise<Catalog> {
  const problems = new FirstLines();
  const rows = new Map<string, Row>();
  /** Where each invalid entry is declared, by key. */
  const refused = new Map<string, Place>();
  const counts = { keys: 0, bytes: 0, expired: 0 };
  const isInMemory = source.kind === "entries";

  const add = (read: RawEntry): void => {
    const given = isSecret ? { ...read, place: { ...read.place, isSecret } } : read;
    // 1. Duplicate keys, including those of invalid entries.
    const key = typeof given.key === "string" ? given.key : undefined;
    const first = key === undefined ? undefined : (rows.get(key) ?? refused.get(key));
    if (first !== undefined)
      problems.add(
        `${describePlace(given.place, key)}: the key is already used in entry ${first.position} (line ${first.line}); keep only one of the two entries`,
      );
    // 2. The entry itself.
    const checked = checkEntry(given, source.defaults);
    if ("problems" in checked) {
      if (key !== undefined && first === undefined) refused.set(key, given.place);
      checked.problems.forEach((problem) => problems.add(problem));
      return;
    }
    const { entry, stored } = checked;
    counts.keys += 1;
    counts.bytes += Buffer.byteLength(stored);
    if (isExpired(entry, nowSeconds)) counts.expired += 1;
    if (first === undefined) rows.set(entry.key, rowOf(given, checked, isInMemory));
  };

  let readError: SourceError | undefined;
  try {
    for await (const some of source.read()) some.forEach(add);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    readError = error;
  }
  return {
    ...counts,
    digest: digestOf(rows),
    problems: [...problems.lines(), ...(readError === undefined ? [] : [readError.message])],
    rows,
    isInMemory,
    sha256: source.readSha256,
  };
}

function rowOf(given: RawEntry, { entry, stored }: ValidEntry, isInMemory: boolean): Row {
  const { value, metadata, expiration, ttl } = recordOf(entry, stored);
  const text = "text" in given ? given.text : undefined;
  return {
    key: entry.key,
    value,
    metadata,
    expiration,
    ttl,
    entry: isInMemory ? entry : undefined,
    position: given.place.position,
    line: given.place.line,
    start: text?.offset,
    end: text && text.offset + text.bytes,
    sentBytes: entryBytes(entry),
    isBinary: typeof stored !== "string" && !isUtf8(stored),
  };
}

/** Computes the digest of keys, stored bytes, metadata, expirations and TTLs, regardless of order. */
function digestOf(rows: ReadonlyMap<string, Row>): string {
  const hash = createHash("sha256");
  for (const key of [...rows.keys()].sort()) {
    const row = rows.get(key);
    hash.update(JSON.stringify([key, row?.value, row?.metadata, row?.expiration, row?.ttl]));
  }
  return hash.digest("hex");
}

const SHOWN_LINES = 10;

/** Keeps the first ten lines and counts the rest. */
class FirstLines {
  readonly #lines: string[] = [];
  #count = 0;

  add(line: string): void {
    this.#count += 1;
    if (this.#lines.length < SHOWN_LINES) this.#lines.push(line);
  }

  lines(): string[] {
    const more = this.#count - this.#lines.length;
    return more === 0 ? this.#lines : [...this.#lines, `and ${pluralize(more, "more problem")}`];
  }
}
