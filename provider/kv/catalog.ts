import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { entryBytes, isShorterAsBase64 } from "./batches";
import { isPast, placeOf, type Place } from "./check-entry";
import { recordOf, storedBytes, type Entry, type Recorded } from "./entry";
import { FirstFew } from "./first-few";
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

/**
 * What a declared key is to hold, and what is needed to send it. When a lifetime ends is known when it is written. One
 * flat object: there may be a million of them.
 */
export interface Row extends Recorded {
  readonly key: string;
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

/** Declared entries, without their values. */
export interface Catalog extends Summary {
  /** By key, in the order of the source. */
  readonly rows: ReadonlyMap<string, Row>;
  /** Of the file that the entries were read from; undefined for other sources. */
  readonly sha256: string | undefined;
}

/** Reads the source once. Never throws for what is wrong with the source: that is among the problems. */
export async function catalogOf(source: Source, nowSeconds = Date.now() / 1000): Promise<Catalog> {
  const problems = new FirstFew("problem");
  const warnings = new FirstFew("warning");
  const rows = new Map<string, Row>();
  /** Of the first entries of their key that are wrong. */
  const refused = new Map<string, Place>();
  const counts = { keys: 0, bytes: 0, expired: 0 };

  const look = ({ given, checked }: Examined): void => {
    // 1. A bad entry has its place as well.
    const key = typeof given.key === "string" ? given.key : undefined;
    const first = key === undefined ? undefined : (rows.get(key) ?? refused.get(key));
    if (first !== undefined)
      problems.add(
        `${placeOf(given.place, key)}: the key stands in entry ${first.position} (line ${first.line}) already; keep one of the two`,
      );
    // 2. The entry itself.
    if ("problems" in checked) {
      if (key !== undefined && first === undefined) refused.set(key, given.place);
      checked.problems.forEach((problem) => problems.add(problem));
      return;
    }
    const { entry } = checked;
    checked.warnings.forEach((warning) => warnings.add(warning));
    counts.keys += 1;
    counts.bytes += checked.bytes;
    if (isPast(entry, nowSeconds)) counts.expired += 1;
    if (first !== undefined) return;
    const stored = entry.base64 ? storedBytes(entry) : entry.value;
    const { value, metadata, expiration, ttl } = recordOf(entry, stored);
    const text = "text" in given ? given.text : undefined;
    const asIs = isAsIs(given, entry);
    rows.set(entry.key, {
      key: entry.key,
      value,
      metadata,
      expiration,
      ttl,
      position: given.place.position,
      line: given.place.line,
      start: text?.offset,
      end: text && text.offset + text.bytes,
      isAsIs: asIs,
      sentBytes: asIs && text !== undefined ? text.bytes : entryBytes(entry),
      isBinary: typeof stored !== "string" && !isUtf8(stored),
    });
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
    digest: digestOf(rows),
    problems: problems.lines(),
    warnings: warnings.lines(),
    rows,
    sha256: examination.sha256,
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
