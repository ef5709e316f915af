import { isBag, type Bag } from "../runtime/values";

/** Metadata as it was written: what a number loses when it is read, and how deep it all goes. */

/** The place of a number in JSON. */
export type NumberPath = readonly (string | number)[];

/** Whether something lies more than so many levels deep. Without recursion: it may lie deeper than the stack does. */
export function isDeeper(value: unknown, levels: number): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return true;
    level = level.flatMap((one): unknown[] =>
      typeof one === "object" && one !== null ? Object.values(one) : [],
    );
  }
  return false;
}

/** The first number that is not finite, or whole and so large that the program's own digits may be lost already. */
export function unsafeNumber(value: unknown): NumberPath | undefined {
  return firstNumber(value, (number) => !Number.isFinite(number) || isUnsafe(number));
}

function isUnsafe(number: number): boolean {
  return Number.isInteger(number) && !Number.isSafeInteger(number);
}

/** A number with at most 15 digits and no exponent comes back as it was written. */
const PERHAPS_INEXACT = /[\d.]{16}|\d[eE]/;

/**
 * The first number in a member whose digits are not what comes back when it is read as a double and written again:
 * `9007199254740993` becomes `…992`, and `1e400` nothing at all.
 *
 * @param text JSON of the whole object.
 * @param object the same, parsed.
 */
export function inexactNumber(text: string, object: Bag, member: string): NumberPath | undefined {
  const value = object[member];
  if (firstNumber(value, () => true) === undefined || !PERHAPS_INEXACT.test(text)) return undefined;
  const written: unknown = JSON.parse(withNumbersAsTexts(text));
  const digits = isBag(written) ? written[member] : undefined;
  return firstNumber(value, (_, path) => !isExact(String(valueAt(digits, path))));
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
