import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { KV } from "../limits/index";
import { nearest } from "../basics/nearest";
import { canonicalJson, type JsonObject, type Json } from "../basics/json";
import { firstOf, pluralize } from "../basics/words";
import { formatNumber } from "../limits/workers";
import { checkMetadata, typeName } from "./metadata";

/**
 * Entries as declared and as recorded, and their limits. A message names the place where an entry is declared, its key,
 * its size and the limit, but never its value or metadata, which may be secret.
 */

/** A declared entry, checked and with defaults applied. */
export interface Entry {
  readonly key: string;
  /** Text, or base64 if `base64` is true. */
  readonly value: string;
  readonly base64: boolean;
  readonly metadata?: Json;
  /** The expiration in Unix seconds. Absent if `expirationTtl` is set, because a TTL takes precedence. */
  readonly expiration?: number;
  /** The TTL in seconds, at least 60. */
  readonly expirationTtl?: number;
}

/** What the manifest records about a written entry. */
export interface RecordedEntry {
  /** First 16 bytes of the SHA-256 of the stored bytes: 32 hex digits. */
  readonly value: string;
  /** The same digest of the metadata's canonical JSON. Absent if there's no metadata. */
  readonly metadata?: string | undefined;
  /** The expiration in Unix seconds: the declared time or, for a TTL, the time that Cloudflare lists. */
  readonly expiration?: number | undefined;
  /** The declared TTL in seconds. Changing it rewrites the entry. */
  readonly ttl?: number | undefined;
}

/** The size of a recorded digest, in bytes. */
export const DIGEST_BYTES = 16;

/**
 * Recorded for a key whose content is unknown, because a write or delete was interrupted. It matches no declaration, so
 * the key is rewritten. The resource still owns the key and deletes it like the others.
 */
export const UNCERTAIN: RecordedEntry = { value: "00".repeat(DIGEST_BYTES) };

/**
 * Recorded for a key that someone else has changed. It's rewritten as well, but never deleted: another stack may have
 * taken it over.
 */
export const FOREIGN: RecordedEntry = { value: "ff".repeat(DIGEST_BYTES) };

/** Returns the bytes that Cloudflare stores. */
export function storedBytes(entry: Pick<Entry, "value" | "base64">): Buffer {
  return Buffer.from(entry.value, entry.base64 ? "base64" : "utf8");
}

/** Converts stored bytes to a declared value: text if they're UTF-8, otherwise base64. */
export function declaredValueOf(stored: Buffer): Pick<Entry, "value" | "base64"> {
  return isUtf8(stored)
    ? { value: stored.toString("utf8"), base64: false }
    : { value: stored.toString("base64"), base64: true };
}

export function digest(bytes: Buffer | string): string {
  // A slice of the longer string would keep the whole string in memory.
  return hash("sha256", bytes, "buffer").toString("hex", 0, DIGEST_BYTES);
}

/** The digest of an empty value. */
export const NO_VALUE = digest("");

/** Returns what will be recorded about an entry, except the expiration that results from a TTL. */
export function recordOf(
  entry: Entry,
  stored: Buffer | string = entry.base64 ? storedBytes(entry) : entry.value,
): RecordedEntry {
  return {
    value: digest(stored),
    metadata: entry.metadata === undefined ? undefined : digest(canonicalJson(entry.metadata)),
    expiration: entry.expirationTtl === undefined ? entry.expiration : undefined,
    ttl: entry.expirationTtl,
  };
}

/** The names of an entry's properties, in a bulk file or in a program. */
export interface Spelling {
  readonly members: readonly string[];
  readonly expirationTtl: "expiration_ttl" | "expirationTtl";
}

/** Property names in a file for `wrangler kv bulk put`. */
export const FILE_SPELLING: Spelling = {
  members: ["key", "value", "base64", "metadata", "expiration", "expiration_ttl"],
  expirationTtl: "expiration_ttl",
};

/** Property names in a program, where the entry's key is the key of the map. */
export const PROGRAM_SPELLING: Spelling = {
  members: ["value", "base64", "metadata", "expiration", "expirationTtl"],
  expirationTtl: "expirationTtl",
};

/** Where an entry is declared. Which properties are set depends on the source. */
export interface Place {
  /** The declared file or directory; absent for inline entries. */
  readonly source?: string;
  /** The entry's number in a bulk file, counted from 1. */
  readonly position?: number;
  /** The line of a bulk file on which the entry starts. */
  readonly line?: number;
  /** The path of the entry's file, relative to the source directory. */
  readonly path?: string;
  /** Whether the names of keys and files are secret. */
  readonly isSecret?: boolean;
}

/** The text of an entry in a bulk file. */
export interface EntryText {
  /** The offset of its first byte in the file. */
  readonly offset: number;
  readonly bytes: number;
}

/** An entry that hasn't been checked yet. */
export type RawEntry = { readonly place: Place; readonly key: unknown } & (
  | { readonly members: JsonObject; readonly spelling: Spelling; readonly text?: EntryText }
  /** Why the source couldn't read the entry. */
  | { readonly unreadable: string }
);

export interface EntryDefaults {
  /** The metadata for entries that have none. */
  readonly metadata?: unknown;
  /** The TTL for entries with neither an expiration nor a TTL. */
  readonly expirationTtl?: number | undefined;
}

export interface ValidEntry {
  readonly entry: Entry;
  /** The value that Cloudflare stores: a string if it was declared as text. */
  readonly stored: Buffer | string;
}

export type CheckedEntry = ValidEntry | { readonly problems: readonly string[] };

/** Checks an entry. Returns it with its defaults applied, or one sentence per problem. */
export function checkEntry(given: RawEntry, defaults: EntryDefaults = {}): CheckedEntry {
  const at = (sentence: string): string => `${describePlace(given.place, given.key)}: ${sentence}`;
  if ("unreadable" in given) return { problems: [at(given.unreadable)] };

  const { key, members, spelling } = given;
  const problems: string[] = [];
  const addProblem = (problem: string | undefined): void => {
    if (problem !== undefined) problems.push(at(problem));
  };

  for (const name of Object.keys(members)) {
    if (!spelling.members.includes(name)) addProblem(unknownMember(name, spelling.members));
  }
  addProblem(checkKey(key));
  const value = members["value"];
  const base64 = members["base64"] ?? false;
  const metadata = members["metadata"] ?? undefined; // In some places, the engine writes null for an unset property.
  const expiration = members["expiration"] ?? undefined;
  const expirationTtl = members[spelling.expirationTtl] ?? undefined;
  addProblem(checkMetadata(metadata));
  addProblem(checkExpiration(expiration));
  addProblem(checkTtl(spelling.expirationTtl, expirationTtl));

  let stored: Buffer | string = "";
  if (typeof base64 !== "boolean") addProblem(`base64 is ${typeName(base64)}; use true or false`);
  else if (typeof value !== "string") addProblem(notString(value));
  else {
    stored = base64 ? Buffer.from(value, "base64") : value;
    const bytes = Buffer.byteLength(stored);
    // Only canonical base64, in the standard alphabet with padding, survives the round trip.
    if (typeof stored !== "string" && (value.length % 4 !== 0 || stored.toString("base64") !== value))
      addProblem(
        "value is not valid base64; use A-Z, a-z, 0-9, + and /, padded with =, without spaces or line breaks",
      );
    else if (bytes > KV.MAX_VALUE_BYTES) addProblem(tooLarge(bytes));
    else if (!base64 && HALF_PAIR.test(value))
      addProblem(
        "value contains half of a surrogate pair, which UTF-8 can't encode; to store arbitrary bytes, pass them as base64",
      );
  }
  if (problems.length > 0) return { problems };

  const ttl = (expirationTtl ?? (expiration === undefined ? defaults.expirationTtl : undefined)) as
    number | undefined;
  const meta = (metadata ?? defaults.metadata) as Json | undefined;
  const entry: Entry = {
    key: key as string,
    value: value as string,
    base64: base64 as boolean,
    ...(meta === undefined ? {} : { metadata: meta }),
    ...(ttl !== undefined
      ? { expirationTtl: ttl }
      : expiration === undefined
        ? {}
        : { expiration: expiration as number }),
  };
  return { entry, stored };
}

/** Returns what's wrong with the default metadata and TTL. Each message starts with the argument's name. */
export function checkDefaults({ metadata, expirationTtl }: EntryDefaults): string[] {
  return [
    checkMetadata(metadata ?? undefined),
    checkTtl("expirationTtl", expirationTtl ?? undefined),
  ].flatMap((problem) => (problem === undefined ? [] : [`defaults.${problem}`]));
}

/**
 * Whether the entry has expired. Expired entries are counted, but neither compared nor sent. Cloudflare rejects a whole
 * batch if one of its entries expires within the next minute, so such an entry already counts as expired.
 */
export function isExpired({ expiration }: Pick<RecordedEntry, "expiration">, nowSeconds: number): boolean {
  return expiration !== undefined && expiration < nowSeconds + KV.MIN_TTL_SECONDS;
}

/** Returns how many seconds an entry lives if it's written now. */
export const lifeOf = (
  { ttl, expiration = Infinity }: Pick<RecordedEntry, "ttl" | "expiration">,
  nowSeconds: number,
): number => ttl ?? expiration - nowSeconds;

/**
 * Describes where an entry is declared: `catalog.json: entry 3 (line 17, key "a")`,
 * `public: file "a.txt" (key "static/a.txt")` or `key "a"`.
 */
export function describePlace({ source, position, line, path, isSecret }: Place, key: unknown): string {
  const named = typeof key === "string" ? `key ${quoteKey(key, isSecret)}` : undefined;
  const file = path === undefined ? undefined : `file ${quoteKey(path, isSecret)}`;
  const thing = position === undefined ? file : `entry ${position}`;
  const more = [line === undefined ? undefined : `line ${line}`, named].filter((s) => s !== undefined);
  const whole =
    thing === undefined ? more.join(", ") : more.length === 0 ? thing : `${thing} (${more.join(", ")})`;
  return source === undefined ? whole : `${source}: ${whole}`;
}

const SHOWN_KEY_CHARACTERS = 80;

/** Stands for a secret, as in redacted messages. */
const HIDDEN = "[secret]";

/** Quotes a key, shortened if it's long, unless its name is secret. */
export function quoteKey(key: string, isSecret = false): string {
  if (isSecret) return HIDDEN;
  return key.length <= SHOWN_KEY_CHARACTERS
    ? quoted(key)
    : `${quoted(key.slice(0, SHOWN_KEY_CHARACTERS))}… (${formatNumber(key.length)} characters)`;
}

const quoted = (key: string): string => JSON.stringify(key);

export function tooLarge(bytes: number): string {
  return `value is ${formatNumber(bytes)} bytes; the limit is ${formatNumber(KV.MAX_VALUE_BYTES)}`;
}

const HALF_PAIR = /\p{Surrogate}/u;
/** Matches nearly every key. Of these, only the length has to be checked. */
const PLAIN_KEY = /^[\x21-\x7e]+$/;
/** Whitespace and other characters that terminals don't display. */
const UNPRINTABLE = /[\p{Z}\p{Cc}\p{Surrogate}]/u;
/** Returns what's wrong with a key. Undefined if it's valid. */
export function checkKey(key: unknown): string | undefined {
  if (key === undefined || key === null) return "key is missing; use 1 to 512 bytes of printable characters";
  if (typeof key !== "string") return `key is ${typeName(key)}; use a string`;
  if (key === "") return `key is empty; use 1 to ${KV.MAX_KEY_BYTES} bytes`;
  if (key === "." || key === "..") return `key is "${key}", which Cloudflare refuses`;
  const bytes = Buffer.byteLength(key);
  if (bytes > KV.MAX_KEY_BYTES)
    return `key is ${formatNumber(bytes)} bytes; the limit is ${KV.MAX_KEY_BYTES}`;
  if (PLAIN_KEY.test(key)) return undefined;
  const bad = UNPRINTABLE.exec(key);
  if (bad === null) return undefined;
  const codePoint = (bad[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const position = Array.from(key.slice(0, bad.index)).length + 1; // In characters, not UTF-16 code units.
  return `key contains U+${codePoint} at position ${position}; use printable characters without whitespace`;
}

/** The last second of the year 9999: the latest time that most date formats can represent. */
const LAST_SECOND = 253_402_300_799;

function checkExpiration(expiration: unknown): string | undefined {
  if (expiration === undefined) return undefined;
  if (typeof expiration !== "number")
    return `expiration is ${typeName(expiration)}; use a Unix time in seconds`;
  if (!Number.isInteger(expiration) || expiration < 0)
    return `expiration is ${expiration}; use a Unix time in whole seconds, 0 or greater`;
  if (expiration > LAST_SECOND)
    return `expiration is ${expiration}, which is after the year 9999; use seconds, not milliseconds`;
  return undefined;
}

function checkTtl(name: string, ttl: unknown): string | undefined {
  if (ttl === undefined) return undefined;
  if (typeof ttl !== "number") return `${name} is ${typeName(ttl)}; use a number of seconds`;
  if (!Number.isInteger(ttl)) return `${name} is ${ttl}; use a whole number of seconds`;
  if (ttl < KV.MIN_TTL_SECONDS)
    return `${name} is ${pluralize(ttl, "second")}; the minimum is ${KV.MIN_TTL_SECONDS}`;
  if (ttl > LAST_SECOND) return `${name} is ${ttl} seconds, which ends after the year 9999`;
  return undefined;
}

function unknownMember(name: string, members: readonly string[]): string {
  const near = nearest(name, members);
  return `unknown property ${quoteKey(name)}; ${near === undefined ? `use one of: ${members.join(", ")}` : `did you mean "${near}"?`}`;
}

function notString(value: unknown): string {
  return value === undefined || value === null
    ? "value is missing; use a string"
    : `value is ${typeName(value)}; serialize it to a JSON string`;
}

const SHOWN_KEYS = 10;

/** Quotes the first ten keys, unless their names are secret. */
export function quoteKeys(keys: readonly string[], isSecret = false): string {
  if (isSecret) return HIDDEN;
  // A namespace may have millions of keys.
  return firstOf(keys.slice(0, SHOWN_KEYS + 1).map(quoted), SHOWN_KEYS);
}
