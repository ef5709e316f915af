import { KV } from "../limits";
import { propertyPath } from "../runtime/inputs";
import { isJsonObject, type JsonObject } from "../runtime/values";
import { formatNumber } from "../limits/workers";

/** Checks an entry's metadata: its type, its size, and whether any number loses digits in JSON. */

/** The maximum nesting depth that fits into the size limit: each level takes two brackets. */
const MOST_LEVELS = KV.MAX_METADATA_BYTES / 2;

/**
 * Returns what's wrong with an entry's metadata. Undefined if it's valid.
 *
 * @param isProgram whether it comes from a program, where numbers may already have lost digits.
 */
export function checkMetadata(metadata: unknown, isProgram: boolean): string | undefined {
  if (metadata === undefined) return undefined;
  if (!isJsonObject(metadata)) return `metadata is ${typeName(metadata)}; use an object`;
  if (isTooDeep(metadata))
    return `metadata is nested too deeply to fit in ${formatNumber(KV.MAX_METADATA_BYTES)} bytes`;
  const unsafe = isProgram ? firstNumber(metadata, isUnsafe) : undefined;
  if (unsafe !== undefined) return inexactNumber(unsafe);
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  return bytes > KV.MAX_METADATA_BYTES
    ? `metadata is ${formatNumber(bytes)} bytes of JSON; the limit is ${formatNumber(KV.MAX_METADATA_BYTES)}`
    : undefined;
}

/** The path of a number in JSON. */
type NumberPath = readonly (string | number)[];

/** Refers to the number by its path, because its value may be secret. */
function inexactNumber(path: NumberPath): string {
  return `${propertyPath(["metadata", ...path])} is a number that loses digits in JSON; write it as a string`;
}

/** Names the type of a value without revealing the value. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Whether metadata is nested too deeply. Not recursive, because deep nesting could overflow the stack. */
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

/** Whether a number isn't finite, or is an integer so large that it may already have lost digits. */
function isUnsafe(number: number): boolean {
  return !Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number));
}

/** Matches a number that may lose digits. One with at most 15 digits and no exponent is exact. */
const PERHAPS_INEXACT = /[\d.]{16}|\d[eE]/;

/**
 * Finds a number in an entry's metadata that would change if it were parsed as a double and written again:
 * `9007199254740993` becomes `…992`, and `1e400` becomes `null`.
 *
 * @param text the entire entry as JSON.
 * @param entry the same entry, parsed.
 */
export function inexactMetadata(text: string, { metadata }: JsonObject): string | undefined {
  if (isTooDeep(metadata) || firstNumber(metadata, () => true) === undefined || !PERHAPS_INEXACT.test(text))
    return undefined;
  const written: unknown = JSON.parse(withNumbersAsTexts(text));
  const digits = isJsonObject(written) ? written["metadata"] : undefined;
  const found = firstNumber(metadata, (_, path) => !isExact(String(valueAt(digits, path))));
  return found && inexactNumber(found);
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

/** Returns the same JSON with every number in quotes. */
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

/** Returns the index after the closing quote. A regular expression would use memory for each escape in a long value. */
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

/** Returns a number's digits without leading and trailing zeros, and the last digit's power of ten. */
function meaningOf(number: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  let length = digits.length;
  while (digits[length - 1] === "0") length -= 1;
  if (length === 0) return "0";
  return `${sign}${digits.slice(0, length)}e${Number(exponent) - fraction.length + digits.length - length}`;
}
