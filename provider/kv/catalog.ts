import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { entryBytes, isShorterAsBase64 } from "./batches";
import { isPast, placeOf, type EntryText, type Place } from "./check-entry";
import { recordOf, storedBytes, type Entry, type Recorded } from "./entry";
import { FirstFew } from "./first-few";
import { grown, Records } from "./records";
import { SetDigest } from "./set-digest";
import { SourceError } from "./source-error";
import type { Examined, Source } from "./source";

/** A source of entries in a few lines: what the inputs of a KvEntries show in place of the entries. */
export interface Summary {
  readonly keys: number;
  /** Bytes of all values as the service stores them. */
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

/** Declared entries, without their values: by row what a key is to hold, and what is needed to send it. */
export interface Catalog extends Summary {
  /** A lifetime stands for itself: when it ends is known when it is written. */
  readonly records: Records;
  readonly texts: Texts;
  /** Of the file that the entries were read from; undefined for other sources. */
  readonly sha256: string | undefined;
}

/** Reads the source once. Never throws for what is wrong with the source: that is among the problems. */
export async function catalogOf(source: Source, nowSeconds = Date.now() / 1000): Promise<Catalog> {
  const problems = new FirstFew("problem");
  const warnings = new FirstFew("warning");
  const whole = new SetDigest();
  const records = new Records();
  const texts = new Texts();
  const places = new Places();
  const counts = { keys: 0, bytes: 0, expired: 0 };

  const look = ({ given, checked }: Examined): void => {
    // 1. A bad entry has its place as well.
    const key = typeof given.key === "string" ? given.key : undefined;
    const row = key === undefined ? -1 : records.add(key);
    if (row !== -1) places.set(row, given.place);
    else if (key !== undefined) {
      const first = places.of(records.find(key));
      problems.add(
        `${placeOf(given.place, key)}: the key stands in entry ${first.position} (line ${first.line}) already; keep one of the two`,
      );
    }
    // 2. The entry itself.
    if ("problems" in checked) {
      checked.problems.forEach((problem) => problems.add(problem));
      return;
    }
    const { entry } = checked;
    checked.warnings.forEach((warning) => warnings.add(warning));
    counts.keys += 1;
    counts.bytes += checked.bytes;
    if (isPast(entry, nowSeconds)) counts.expired += 1;
    const stored = entry.base64 ? storedBytes(entry) : entry.value;
    const record = recordOf(entry, stored);
    whole.add(entryDigest(entry.key, record));
    if (row === -1) return;
    records.set(row, record);
    const isBinary = typeof stored !== "string" && !isUtf8(stored);
    texts.set(row, "text" in given ? given.text : undefined, isAsIs(given, entry), entry, isBinary);
  };

  const examination = source.examine();
  try {
    for await (const some of examination) some.forEach(look);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    problems.add(error.message, "last");
  }
  return {
    ...counts,
    digest: whole.hex(),
    problems: problems.lines(),
    warnings: warnings.lines(),
    records,
    texts,
    sha256: examination.sha256,
  };
}

/** Of everything an entry says: its key, the stored bytes, metadata and when it ends. A character for each byte. */
function entryDigest(key: string, { value, metadata, expiration, ttl }: Recorded): string {
  const meta = metadata === undefined ? "null" : `"${metadata}"`;
  const text = `[${JSON.stringify(key)},"${value}",${meta},${expiration ?? "null"},${ttl ?? "null"}]`;
  return hash("sha256", text, "binary");
}

const AS_IS_MEMBERS: readonly string[] = ["key", "value", "base64", "metadata"];

/** Whether the text in the file says just what the service is to be told: nothing is added to it or left out. */
function isAsIs(given: Examined["given"], entry: Entry): boolean {
  if (!("members" in given) || given.text === undefined) return false;
  const { members, text } = given;
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

const AS_IS = 1;
const BINARY = 2;

/** By row: where the text of an entry stands in its file, and how large it is when it is sent. */
export class Texts {
  #offsets = new Float64Array(0);
  #lengths = new Uint32Array(0);
  #sent = new Uint32Array(0);
  #flags = new Uint8Array(0);

  set(row: number, text: EntryText | undefined, isAsIs: boolean, entry: Entry, isBinary: boolean): void {
    if (row >= this.#sent.length) this.#grow(Math.max(64, row + 1, this.#sent.length * 2));
    this.#offsets[row] = text?.offset ?? NaN;
    this.#lengths[row] = text?.bytes ?? 0;
    this.#sent[row] = isAsIs && text !== undefined ? text.bytes : entryBytes(entry);
    this.#flags[row] = (isAsIs ? AS_IS : 0) | (isBinary ? BINARY : 0);
  }

  offset(row: number): number {
    return this.#offsets[row] ?? NaN;
  }

  length(row: number): number {
    return this.#lengths[row] ?? 0;
  }

  /** Bytes of the entry in the body of a bulk write. */
  sentBytes(row: number): number {
    return this.#sent[row] ?? 0;
  }

  /** Whether the text in the file is what is sent. */
  isAsIs(row: number): boolean {
    return ((this.#flags[row] ?? 0) & AS_IS) !== 0;
  }

  /** Whether the value is no text. */
  isBinary(row: number): boolean {
    return ((this.#flags[row] ?? 0) & BINARY) !== 0;
  }

  #grow(rows: number): void {
    this.#offsets = grown(new Float64Array(rows), this.#offsets);
    this.#lengths = grown(new Uint32Array(rows), this.#lengths);
    this.#sent = grown(new Uint32Array(rows), this.#sent);
    this.#flags = grown(new Uint8Array(rows), this.#flags);
  }
}

/** Position and line of each row: of use only while a file is read. */
class Places {
  #places = new Uint32Array(0);

  set(row: number, { position = 0, line = 0 }: Place): void {
    if (row * 2 >= this.#places.length)
      this.#places = grown(new Uint32Array(Math.max(128, row * 4)), this.#places);
    this.#places[row * 2] = position;
    this.#places[row * 2 + 1] = line;
  }

  of(row: number): { readonly position: number; readonly line: number } {
    return { position: this.#places[row * 2] ?? 0, line: this.#places[row * 2 + 1] ?? 0 };
  }
}
