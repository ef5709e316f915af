/** Values of log lines, as far as comparing them takes more than equality. */

/** Digits of JSON: what a numeric field's value is written with. */
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export function isTime(text: string): boolean {
  return TIME.test(text) && !Number.isNaN(Date.parse(text));
}

/** The number that a text says; undefined where it says none. */
export function numberIn(value: string | number): number | undefined {
  if (typeof value === "number") return value;
  return NUMBER.test(value) ? Number(value) : undefined;
}

/**
 * A time as milliseconds since the UNIX epoch, from RFC 3339, or from a whole number whose size tells its unit: the
 * forms that a job's `timestampFormat` has, and milliseconds, as some fields have them.
 */
export function timeIn(value: string | number): number | undefined {
  if (typeof value === "string" && isTime(value)) return Date.parse(value);
  const number = numberIn(value);
  if (number === undefined || !Number.isInteger(number)) return undefined;
  if (number < 1e11) return number * 1_000;
  return number < 1e14 ? number : number / 1e6;
}
