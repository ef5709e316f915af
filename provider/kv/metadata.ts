import { KV } from "../limits/index";
import { propertyPath, isJsonObject } from "../basics/json";
import { formatNumber } from "../limits/workers";

/** Checks an entry's metadata: its type, its size, and whether any number loses digits in JSON. */

/** The maximum nesting depth that fits into the size limit: each level takes two brackets. */
const MOST_LEVELS = KV.MAX_METADATA_BYTES / 2;

/**
 * Returns what's wrong with an entry's metadata. Undefined if it's valid. A number is named by its path, because its
 * value may be secret. Fractions are stored as JavaScript reads them.
 */
export function checkMetadata(metadata: unknown): string | undefined {
  if (metadata === undefined) return undefined;
  if (!isJsonObject(metadata)) return `metadata is ${typeName(metadata)}; use an object`;
  if (isTooDeep(metadata))
    return `metadata is nested too deeply to fit in ${formatNumber(KV.MAX_METADATA_BYTES)} bytes`;
  const inexact = inexactNumber(metadata);
  if (inexact !== undefined)
    return `${propertyPath(["metadata", ...inexact])} is a number that loses digits in JSON; write it as a string`;
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  return bytes > KV.MAX_METADATA_BYTES
    ? `metadata is ${formatNumber(bytes)} bytes of JSON; the limit is ${formatNumber(KV.MAX_METADATA_BYTES)}`
    : undefined;
}

/** The path of a number in JSON. */
type NumberPath = readonly (string | number)[];

/** Names the type of a value without revealing the value. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Whether metadata is nested too deeply. Not recursive, because deep nesting could overflow the stack. */
function isTooDeep(metadata: unknown): boolean {
  let level = [metadata];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) return true;
    level = level.flatMap((one): unknown[] =>
      typeof one === "object" && one !== null ? Object.values(one) : [],
    );
  }
  return false;
}

/** Returns the path of the first number that isn't finite, or is an integer so large that it may have lost digits. */
function inexactNumber(value: unknown, path: NumberPath = []): NumberPath | undefined {
  if (typeof value === "number") return isUnsafe(value) ? path : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    const found = inexactNumber(member, [...path, Array.isArray(value) ? Number(name) : name]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isUnsafe(number: number): boolean {
  return !Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number));
}
