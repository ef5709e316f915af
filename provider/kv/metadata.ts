import { KV } from "../limits/index";
import { isJsonObject } from "../basics/json";
import { formatNumber } from "../limits/workers";

/** Checks an entry's metadata: its type, its size, and whether any number loses digits in JSON. */

/**
 * Returns what's wrong with an entry's metadata. Undefined if it's valid. A number is named by its property, because its
 * value may be secret. Fractions are stored as JavaScript reads them.
 */
export function checkMetadata(metadata: unknown): string | undefined {
  if (metadata === undefined) return undefined;
  if (!isJsonObject(metadata)) return `metadata is ${typeName(metadata)}; use an object`;
  let inexact: string | undefined;
  try {
    const text = JSON.stringify(metadata, (name, member: unknown) => {
      if (isInexact(member)) inexact ??= name;
      return member;
    });
    if (inexact !== undefined)
      return `metadata has a number (${JSON.stringify(inexact)}) that loses digits in JSON; write it as a string`;
    const bytes = Buffer.byteLength(text);
    return bytes > KV.MAX_METADATA_BYTES
      ? `metadata is ${formatNumber(bytes)} bytes of JSON; the limit is ${formatNumber(KV.MAX_METADATA_BYTES)}`
      : undefined;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return `metadata is nested too deeply to fit in ${formatNumber(KV.MAX_METADATA_BYTES)} bytes`;
  }
}

/** Names the type of a value without revealing the value. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Whether a number isn't finite, or is an integer so large that it may have lost digits. */
function isInexact(value: unknown): boolean {
  if (typeof value !== "number") return false;
  return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
}
