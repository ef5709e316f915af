import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { KV } from "../limits";
import { nearest } from "../runtime/nearest";
import { canonicalJson, type JsonObject, type Json } from "../runtime/values";
import { checkMetadata, count, kindOf } from "./metadata";

/**
 * An entry: as it is declared, as it is remembered, and held against the limits. A sentence names where the entry stands,
 * its key, the measure and the limit; it never holds a value or metadata, because those may be secret.
 */

export { count };

/** One entry as a declaration gives it, checked and with defaults applied. */
export interface Entry {
  readonly key: string;
  /** Text, or base64 text where `base64` is true. */
  readonly value: string;
  readonly base64: boolean;
  readonly metadata?: Json;
  /** Expiry, seconds since the epoch. Absent where `expirationTtl` is given: the lifetime has precedence. */
  readonly expiration?: number;
  /** Lifetime in seconds, at least 60. */
  readonly expirationTtl?: number;
}

/** What the manifest remembers of an entry that was written. */
export interface Recorded {
  /** First 16 bytes of the SHA-256 of the stored bytes, as 32 hexadecimal digits. */
  readonly value: string;
  /** The same of the metadata's canonical JSON; absent without metadata. */
  readonly metadata?: string | undefined;
  /** When it expires, seconds since the epoch: as declared, or for a lifetime as Cloudflare lists it. */
  readonly expiration?: number | undefined;
  /** The declared lifetime in seconds; a change of it renews the entry. */
  readonly ttl?: number | undefined;
}

/** Of a recorded digest. */
export const DIGEST_BYTES = 16;

/**
 * What is remembered of a key of which nobody knows what it holds: a write or a delete of it was broken off, or somebody
 * else changed it. Equal to no declaration, so that it is written; still ours, so that it is deleted with the rest.
 */
export const UNCERTAIN: Recorded = { value: "00".repeat(DIGEST_BYTES) };

/** Bytes as Cloudflare stores them. */
export function storedBytes(entry: Pick<Entry, "value" | "base64">): Buffer {
  return Buffer.from(entry.value, entry.base64 ? "base64" : "utf8");
}

/** Stored bytes as a declaration may give them: as text where they are UTF-8, else as base64. */
export function writtenOf(stored: Buffer): Pick<Entry, "value" | "base64"> {
  return isUtf8(stored)
    ? { value: stored.toString("utf8"), base64: false }
    : { value: stored.toString("base64"), base64: true };
}

export function digest(bytes: Buffer | string): string {
  // Not a part of the longer text: that would keep the whole of it in memory.
  return hash("sha256", bytes, "buffer").toString("hex", 0, DIGEST_BYTES);
}

/** What will be remembered of an entry, but for the time at which a lifetime ends. */
export function recordOf(
  entry: Entry,
  stored: Buffer | string = entry.base64 ? storedBytes(entry) : entry.value,
): Recorded {
  return {
    value: digest(stored),
    metadata: entry.metadata === undefined ? undefined : digest(canonicalJson(entry.metadata)),
    expiration: entry.expirationTtl === undefined ? entry.expiration : undefined,
    ttl: entry.expirationTtl,
  };
}

/** How the members of an entry are called: in the CLI's bulk file, or in a program. */
export interface Spelling {
  readonly members: readonly string[];
  readonly expirationTtl: "expiration_ttl" | "expirationTtl";
}

/** Members of an entry of the JSON that `wrangler kv bulk put` takes. */
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
  | { readonly members: JsonObject; readonly spelling: Spelling; readonly text?: EntryText }
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

export interface Sound {
  readonly entry: Entry;
  /** What Cloudflare stores, as text where it was given as text. */
  readonly stored: Buffer | string;
  readonly warnings: readonly string[];
}

export type Checked = Sound | { readonly problems: readonly string[] };

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

  let [bytes, stored]: [number, Buffer | string] = [0, ""];
  if (typeof base64 !== "boolean") refuse(`base64 is ${kindOf(base64)}; write true or false`);
  else if (typeof value !== "string") refuse(notText(value));
  else {
    stored = base64 ? Buffer.from(value, "base64") : value;
    bytes = Buffer.byteLength(stored);
    // Standard alphabet with padding: what does not come back the same was not canonical base64.
    if (typeof stored !== "string" && (value.length % 4 !== 0 || stored.toString("base64") !== value))
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
  const warnings = [invisibleIn(entry.key), bytes > KV.DOCUMENTED_VALUE_BYTES ? unusuallyLarge(bytes) : undefined];
  return {
    entry,
    stored,
    warnings: warnings.flatMap((warning) => (warning === undefined ? [] : [at(warning)])),
  };
}

/** What is wrong with the defaults, each as a sentence that begins with the argument's name. */
export function checkDefaults({ metadata, expirationTtl }: EntryDefaults): string[] {
  return [
    checkMetadata(metadata ?? undefined, true),
    checkTtl("expirationTtl", expirationTtl ?? undefined),
  ].flatMap((problem) => (problem === undefined ? [] : [`defaults.${problem}`]));
}

/**
 * Whether the entry's time has come: it is counted, compared with nothing and never sent. Cloudflare refuses what
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
    ? quoted(key)
    : `${quoted(key.slice(0, SHOWN_KEY_CHARACTERS))}… (${count(key.length)} characters)`;
}

function quoted(key: string): string {
  return withEscapes(JSON.stringify(key));
}

/** The key with what nobody would see as `\u200b`. */
export function withEscapes(key: string): string {
  if (PLAIN_KEY.test(key)) return key;
  return key.replace(EMOJI_OR_INVISIBLE, (found) => {
    if (!INVISIBLE.test(found)) return found;
    const code = (found.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
}

export function tooLarge(bytes: number): string {
  return `value is ${count(bytes)} bytes; the limit is ${count(KV.MAX_VALUE_BYTES)}`;
}

function unusuallyLarge(bytes: number): string {
  return `value is ${count(bytes)} bytes, more than the ${count(KV.DOCUMENTED_VALUE_BYTES)} of the documentation; Cloudflare may refuse it`;
}

const HALF_PAIR = /\p{Surrogate}/u;
/** Any key of this form is fine but for its length, and nearly all keys have it. */
const PLAIN_KEY = /^[\x21-\x7e]+$/;
/** Whitespace and what no terminal prints. */
const UNPRINTABLE = /[\p{Z}\p{Cc}\p{Surrogate}]/u;
/** One character that shows as nothing, turns the direction of writing, or is not assigned. */
const INVISIBLE = /^[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Cn}]$/u;
/** Emoji are joined by such characters. Made here, as the compiler's target does not know the flag `v`. */
const EMOJI_OR_INVISIBLE = new RegExp(
  "\\p{RGI_Emoji}|[\\p{Cf}\\p{Default_Ignorable_Code_Point}\\p{Cn}]",
  "gv",
);

/** What is wrong with a key, or undefined. */
export function checkKey(key: unknown): string | undefined {
  if (key === undefined || key === null) return "has no key; write 1 to 512 bytes of printable characters";
  if (typeof key !== "string") return `key is ${kindOf(key)}; write a string`;
  if (key === "") return `key is empty; write 1 to ${KV.MAX_KEY_BYTES} bytes`;
  if (key === "." || key === "..") return `key is "${key}", which Cloudflare refuses`;
  const bytes = Buffer.byteLength(key);
  if (bytes > KV.MAX_KEY_BYTES) return `key is ${count(bytes)} bytes; the limit is ${KV.MAX_KEY_BYTES}`;
  if (PLAIN_KEY.test(key)) return undefined;
  const bad = UNPRINTABLE.exec(key);
  if (bad === null) return undefined;
  return `key has ${characterAt(key, bad)}; a key takes printable characters without whitespace`;
}

/** A warning of a character that the API accepts and that nobody sees; undefined where there is none. */
function invisibleIn(key: string): string | undefined {
  if (PLAIN_KEY.test(key)) return undefined;
  for (const found of key.matchAll(EMOJI_OR_INVISIBLE)) {
    if (!INVISIBLE.test(found[0])) continue;
    const what = /\p{Cn}/u.test(found[0]) ? "which Unicode has not assigned" : "which is invisible";
    return `key has ${characterAt(key, found)}, ${what}: a Worker that reads the key as it looks won't find it`;
  }
  return undefined;
}

/** `U+0020 as character 2` */
function characterAt(key: string, { 0: found, index }: RegExpExecArray): string {
  const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `U+${code} as character ${Array.from(key.slice(0, index)).length + 1}`;
}

/** The last second of the year 9999, the largest time that a date can have in most places. */
const LAST_SECOND = 253_402_300_799;

function checkExpiration(expiration: unknown): string | undefined {
  if (expiration === undefined) return undefined;
  if (typeof expiration !== "number")
    return `expiration is ${kindOf(expiration)}; write a number: seconds since 1970`;
  if (!Number.isInteger(expiration) || expiration < 0)
    return `expiration is ${expiration}; write whole seconds since 1970, not below 0`;
  if (expiration > LAST_SECOND)
    return `expiration is ${expiration}, which lies beyond the year 9999; it counts seconds, not milliseconds`;
  return undefined;
}

function checkTtl(name: string, ttl: unknown): string | undefined {
  if (ttl === undefined) return undefined;
  if (typeof ttl !== "number") return `${name} is ${kindOf(ttl)}; write a number of seconds`;
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
    : `value is ${kindOf(value)}; serialise it to a JSON string`;
}

const SHOWN_KEYS = 10;

/** The first ten keys, quoted, for a sentence. */
export function shown(keys: readonly string[]): string {
  const first = keys.slice(0, SHOWN_KEYS).map(quoted);
  return `${first.join(", ")}${keys.length > SHOWN_KEYS ? ", …" : ""}`;
}
