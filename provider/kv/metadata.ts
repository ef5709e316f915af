import { KV } from "../limits";
import { propertyPath } from "../runtime/inputs";
import { isJsonObject, type JsonObject } from "../runtime/values";

/** Metadata of an entry: its form, its size, and numbers that JSON would not bring back as they were written. */

/** Levels of metadata that fit into its bytes: each takes two brackets. */
const MOST_LEVELS = KV.MAX_METADATA_BYTES / 2;

/**
 * What is wrong with metadata that was read, or undefined.
 *
 * @param isProgram whether its numbers were a program's: digits that its language had lost nobody could find.
 */
export function checkMetadata(metadata: unknown, isProgram: boolean): string | undefined {
  if (metadata === undefined) return undefined;
  if (!isJsonObject(metadata)) return `metadata is ${kindOf(metadata)}; write an object`;
  if (isTooDeep(metadata))
    return `metadata is nested deeper than its limit of ${count(KV.MAX_METADATA_BYTES)} bytes allows`;
  const unsafe = isProgram ? firstNumber(metadata, isUnsafe) : undefined;
  if (unsafe !== undefined) return notExact(unsafe);
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  return bytes > KV.MAX_METADATA_BYTES
    ? `metadata is ${count(bytes)} bytes of JSON; the limit is ${count(KV.MAX_METADATA_BYTES)}`
    : undefined;
}

/** The place of a number in JSON. */
type NumberPath = readonly (string | number)[];

/** A number whose digits would be lost, by its path; not by its value, which may be secret. */
function notExact(path: NumberPath): string {
  return `${propertyPath(["metadata", ...path])} is a number that JSON numbers do not keep exactly; write it as a string`;
}

/** `26,214,400` */
export function count(n: number): string {
  return n.toLocaleString("en-US");
}

/** The kind of a value, without the value. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Whether metadata has too many levels. Without recursion: it may have more than the stack. */
export function isTooDeep(metadata: unknown): boolean {
  let level = [metadata];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) return true;
    level = level.flatMap((one): unknown[] =>
      typeof one === "object" && one !== null ? Object.values(one) : [],
    );
  }
  return false;
}

/** Not finite, or whole and so large that a program's language may have lost digits of it already. */
function isUnsafe(number: number): boolean {
  return !Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number));
}

/** A number with at most 15 digits and no exponent comes back as it was written. */
const PERHAPS_INEXACT = /[\d.]{16}|\d[eE]/;

/**
 * What is wrong with a number in an entry's metadata whose digits are not what comes back when it is read as a double and
 * written again: `9007199254740993` becomes `…992`, and `1e400` nothing at all.
 *
 * @param text JSON of the whole entry.
 * @param entry the same, parsed.
 */
export function inexactMetadata(text: string, { metadata }: JsonObject): string | undefined {
  if (isTooDeep(metadata) || firstNumber(metadata, () => true) === undefined || !PERHAPS_INEXACT.test(text))
    return undefined;
  const written: unknown = JSON.parse(withNumbersAsTexts(text));
  const digits = isJsonObject(written) ? written["metadata"] : undefined;
  const found = firstNumber(metadata, (_, path) => !isExact(String(valueAt(digits, path))));
  return found && notExact(found);
}

function firstNumber(
  value: unknown,
  holds: (number: number, path: NumberPath) => boolean,
  path: NumberPath = [],
): NumberPath | undefined {
  if (typeof value === "number") return holds(value, path) ? path : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    const found = firstNumber(member, holds, [...path, Array.isArray(value) ? Number(name) : name]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function valueAt(root: unknown, path: NumberPath): unknown {
  return path.reduce<unknown>((here, key) => Reflect.get(Object(here) as object, key), root);
}

/** The same JSON with each number in quotes. */
function withNumbersAsTexts(json: string): string {
  const parts: string[] = [];
  const token = /"|-?\d[\d.eE+-]*/g;
  let from = 0;
  for (let found = token.exec(json); found !== null; found = token.exec(json)) {
    if (found[0] === '"') {
      token.lastIndex = endOfString(json, token.lastIndex);
      continue;
    }
    parts.push(json.slice(from, found.index), '"', found[0], '"');
    from = token.lastIndex;
  }
  return parts.join("") + json.slice(from);
}

/** Behind the closing quote. A pattern would keep a place to go back to for each escape of a value of megabytes. */
function endOfString(json: string, from: number): number {
  for (let at = from; ;) {
    const quote = json.indexOf('"', at);
    let escapes = 0;
    while (json[quote - escapes - 1] === "\\") escapes += 1;
    at = quote + 1;
    if (escapes % 2 === 0) return at;
  }
}

function isExact(written: string): boolean {
  const number = Number(written);
  return Number.isFinite(number) && meaningOf(written) === meaningOf(String(number));
}

/** Digits without zeros around them, and the power of ten of the last one. */
function meaningOf(number: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  let length = digits.length;
  while (digits[length - 1] === "0") length -= 1;
  if (length === 0) return "0";
  return `${sign}${digits.slice(0, length)}e${Number(exponent) - fraction.length + digits.length - length}`;
}
