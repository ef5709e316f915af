import { KV } from "../limits";
import { propertyPath } from "../runtime/inputs";
import { nearest } from "../runtime/nearest";
import { isBag, type Bag, type Json } from "../runtime/values";
import { storedBytes, type Entry, type Recorded } from "./entry";
import { isDeeper, unsafeNumber, type NumberPath } from "./exact";

/**
 * Holds one entry against the limits of the seed. A sentence names where the entry stands, its key, the measure and the
 * limit; it never holds a value or metadata, because those may be secret.
 */

/** How the members of an entry are called: in the CLI's bulk file, or in a program. */
export interface Spelling {
  readonly members: readonly string[];
  readonly expirationTtl: "expiration_ttl" | "expirationTtl";
}

/** Members of an entry of the CLI's bulk JSON (seed 002, "Key-value entry"). */
export const FILE_SPELLING: Spelling = {
  members: ["key", "value", "base64", "metadata", "expiration", "expiration_ttl"],
  expirationTtl: "expiration_ttl",
};

/** Members of an entry in a program; its key is the key of the map. */
export const PROGRAM_SPELLING: Spelling = {
  members: ["value", "base64", "metadata", "expiration", "expirationTtl"],
  expirationTtl: "expirationTtl",
};

/** Where an entry stands, as far as its source can tell. */
export interface Place {
  /** File or directory of the declaration; absent for entries of a program. */
  readonly source?: string;
  /** In a bulk file: which entry, counted from 1, and the line on which it begins. */
  readonly position?: number;
  readonly line?: number;
  /** In a directory: the file, relative to it. */
  readonly path?: string;
}

/** The text of an entry in a bulk file. */
export interface EntryText {
  /** Of its first byte in the file. */
  readonly offset: number;
  readonly bytes: number;
  /** How many members are written in it, at every depth. */
  readonly members: number;
}

/** An entry as its source gives it, before any check. */
export type Given = { readonly place: Place; readonly key: unknown } & (
  | { readonly members: Bag; readonly spelling: Spelling; readonly text?: EntryText }
  /** What kept the source from reading it, as a sentence. */
  | { readonly unreadable: string }
);

/** What an entry gets that says nothing itself. */
export interface EntryDefaults {
  /** For entries without metadata. */
  readonly metadata?: Json | undefined;
  /** For entries with neither an expiry nor a lifetime of their own. */
  readonly expirationTtl?: number | undefined;
}

export type Checked =
  | { readonly entry: Entry; readonly bytes: number; readonly warnings: readonly string[] }
  | { readonly problems: readonly string[] };

/** The entry with its defaults, or one sentence for everything that is wrong with it. */
export function checkEntry(given: Given, defaults: EntryDefaults = {}): Checked {
  const at = (sentence: string): string => `${placeOf(given.place, given.key)}: ${sentence}`;
  if ("unreadable" in given) return { problems: [at(given.unreadable)] };

  const { key, members, spelling } = given;
  const problems: string[] = [];
  const refuse = (problem: string | undefined): void => {
    if (problem !== undefined) problems.push(at(problem));
  };

  for (const name of Object.keys(members)) {
    if (!spelling.members.includes(name)) refuse(unknownMember(name, spelling.members));
  }
  refuse(checkKey(key));
  const value = members["value"];
  const base64 = members["base64"] ?? false;
  const metadata = members["metadata"] ?? undefined; // `null` stands for nothing: the engine writes it in places.
  const expiration = members["expiration"] ?? undefined;
  const expirationTtl = members[spelling.expirationTtl] ?? undefined;
  refuse(checkMetadata(metadata, spelling === PROGRAM_SPELLING));
  refuse(checkExpiration(expiration));
  refuse(checkTtl(spelling.expirationTtl, expirationTtl));

  let bytes = 0;
  if (typeof base64 !== "boolean") refuse(`base64 is ${article(base64)}; write true or false`);
  else if (typeof value !== "string") refuse(notText(value));
  else {
    bytes = base64 ? storedBytes({ value, base64 }).length : Buffer.byteLength(value);
    if (base64 && !isBase64(value))
      refuse(
        "value is not valid base64: it takes A-Z, a-z, 0-9, + and /, padded with =, without spaces or line breaks",
      );
    else if (bytes > KV.MAX_VALUE_BYTES) refuse(tooLarge(bytes));
    else if (!base64 && HALF_PAIR.test(value))
      refuse(
        "value holds half of a surrogate pair, which UTF-8 cannot express; give the bytes as base64 if they are meant",
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
  return { entry, bytes, warnings: warningsOf(bytes).map(at) };
}

/** What is wrong with the defaults, each as a sentence that begins with the argument's name. */
export function checkDefaults({ metadata, expirationTtl }: EntryDefaults): string[] {
  return [
    checkMetadata(metadata ?? undefined, true),
    checkTtl("expirationTtl", expirationTtl ?? undefined),
  ].flatMap((problem) => (problem === undefined ? [] : [`defaults.${problem}`]));
}

/**
 * Whether the entry's time has come: it is counted, compared with nothing and never sent. The service refuses what
 * expires within the next minute, and a whole batch with it (facts 9.1), so the last minute counts as past.
 */
export function isPast({ expiration }: Pick<Recorded, "expiration">, nowSeconds: number): boolean {
  return expiration !== undefined && expiration < nowSeconds + KV.MIN_TTL_SECONDS;
}

/** `catalog.json: entry 3 (line 17, key "a")`, `public: file "a.txt" (key "static/a.txt")`, `key "a"`. */
export function placeOf({ source, position, line, path }: Place, key: unknown): string {
  const named = typeof key === "string" ? `key ${showKey(key)}` : undefined;
  const thing =
    position !== undefined ? `entry ${position}` : path === undefined ? undefined : `file ${showKey(path)}`;
  const more = [line === undefined ? undefined : `line ${line}`, named].filter((s) => s !== undefined);
  const whole =
    thing === undefined ? more.join(", ") : more.length === 0 ? thing : `${thing} (${more.join(", ")})`;
  return source === undefined ? whole : `${source}: ${whole}`;
}

const SHOWN_KEY_CHARACTERS = 80;

/** A key for a sentence: quoted, and cut where it is long. */
export function showKey(key: string): string {
  return key.length <= SHOWN_KEY_CHARACTERS
    ? JSON.stringify(key)
    : `${JSON.stringify(key.slice(0, SHOWN_KEY_CHARACTERS))}… (${count(key.length)} characters)`;
}

/** `26,214,400` */
export function count(n: number): string {
  return n.toLocaleString("en-US");
}

export function tooLarge(bytes: number): string {
  return `value is ${count(bytes)} bytes; the limit is ${count(KV.MAX_VALUE_BYTES)}`;
}

const HALF_PAIR = /\p{Surrogate}/u;
/** Any key of this form is fine but for its length, and nearly all keys have it. */
const PLAIN_KEY = /^[\x21-\x7e]+$/;
/** Whitespace and what no terminal prints. Format characters stay: emoji are joined by them. */
const UNPRINTABLE = /[\s\p{Z}\p{Cc}\p{Surrogate}]/u;

/** What is wrong with a key, or undefined. */
export function checkKey(key: unknown): string | undefined {
  if (key === undefined || key === null) return "has no key; write 1 to 512 bytes of printable characters";
  if (typeof key !== "string") return `key is ${article(key)}; write a string`;
  if (key === "") return `key is empty; write 1 to ${KV.MAX_KEY_BYTES} bytes`;
  if (key === "." || key === "..") return `key is "${key}", which the service does not take`;
  const bytes = Buffer.byteLength(key);
  if (bytes > KV.MAX_KEY_BYTES) return `key is ${count(bytes)} bytes; the limit is ${KV.MAX_KEY_BYTES}`;
  if (PLAIN_KEY.test(key)) return undefined;
  const bad = UNPRINTABLE.exec(key);
  if (bad === null) return undefined;
  const code = (bad[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const character = Array.from(key.slice(0, bad.index)).length + 1;
  return `key has U+${code} as character ${character}; a key takes printable characters without whitespace`;
}

/** Levels of metadata that fit into its bytes: each takes two brackets. */
export const MOST_LEVELS = KV.MAX_METADATA_BYTES / 2;

/** A number whose digits would be lost, by its path; not by its value, which may be secret. */
export function notExact(path: NumberPath): string {
  return `${propertyPath(path)} is a number that JSON numbers do not keep exactly; write it as a string`;
}

/** @param isProgram whether its numbers were a program's: digits that its language had lost nobody could find. */
function checkMetadata(metadata: unknown, isProgram: boolean): string | undefined {
  if (metadata === undefined) return undefined;
  if (!isBag(metadata)) return `metadata is ${article(metadata)}; write an object`;
  if (isDeeper(metadata, MOST_LEVELS))
    return `metadata is nested deeper than its limit of ${count(KV.MAX_METADATA_BYTES)} bytes allows`;
  const unsafe = isProgram ? unsafeNumber(metadata) : undefined;
  if (unsafe !== undefined) return notExact(["metadata", ...unsafe]);
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  return bytes > KV.MAX_METADATA_BYTES
    ? `metadata is ${count(bytes)} bytes of JSON; the limit is ${count(KV.MAX_METADATA_BYTES)}`
    : undefined;
}

/** The last second of the year 9999, the largest time that a date can have in most places. */
const LAST_SECOND = 253_402_300_799;

function checkExpiration(expiration: unknown): string | undefined {
  if (expiration === undefined) return undefined;
  if (typeof expiration !== "number")
    return `expiration is ${article(expiration)}; write a number: seconds since 1970`;
  if (!Number.isInteger(expiration) || expiration < 0)
    return `expiration is ${expiration}; write whole seconds since 1970, not below 0`;
  if (expiration > LAST_SECOND)
    return `expiration is ${expiration}, which lies beyond the year 9999; it counts seconds, not milliseconds`;
  return undefined;
}

function checkTtl(name: string, ttl: unknown): string | undefined {
  if (ttl === undefined) return undefined;
  if (typeof ttl !== "number") return `${name} is ${article(ttl)}; write a number of seconds`;
  if (!Number.isInteger(ttl)) return `${name} is ${ttl}; write whole seconds`;
  if (ttl < KV.MIN_TTL_SECONDS) return `${name} is ${ttl} seconds; the least is ${KV.MIN_TTL_SECONDS}`;
  if (ttl > LAST_SECOND) return `${name} is ${ttl} seconds, which ends beyond the year 9999`;
  return undefined;
}

function unknownMember(name: string, members: readonly string[]): string {
  const near = nearest(name, members);
  return `there is no member ${showKey(name)}. ${near === undefined ? `Members: ${members.join(", ")}.` : `Did you mean "${near}"?`}`;
}

function notText(value: unknown): string {
  return value === undefined || value === null
    ? "has no value; write a string"
    : `value is ${article(value)}; serialise it to a JSON string`;
}

/** Standard alphabet with padding: what does not come back the same was not canonical base64. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && Buffer.from(text, "base64").toString("base64") === text;
}

function warningsOf(bytes: number): string[] {
  return bytes > KV.SEED_VALUE_BYTES
    ? [
        `value is ${count(bytes)} bytes, more than the ${count(KV.SEED_VALUE_BYTES)} of the documentation; the service may refuse it`,
      ]
    : [];
}

/** The kind of a value, without the value. */
function article(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
