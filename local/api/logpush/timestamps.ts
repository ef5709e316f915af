import type { timestampFormats } from "./entities";

export type TimestampFormat = (typeof timestampFormats)[number];

const nanosPerSecond = 1_000_000_000n;

/**
 * Converts a time to nanoseconds since the epoch. Reads dates, and numbers whose size implies their unit (seconds,
 * milliseconds or nanoseconds). Undefined if it isn't a time.
 */
export function nanosOf(value: unknown): bigint | undefined {
  if (typeof value === "number") return Number.isInteger(value) ? bySize(BigInt(value)) : undefined;
  if (typeof value !== "string") return undefined;
  if (/^\d+$/.test(value)) return bySize(BigInt(value));
  const [, seconds, fraction = "", offset = ""] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(value) ?? [];
  const ms = seconds === undefined ? NaN : Date.parse(seconds + offset);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** Formats a time as JSON: a number, or a quoted string. */
export function formatNanos(nanos: bigint, format: TimestampFormat): string {
  switch (format) {
    case "unixnano":
      return String(nanos);
    case "unix":
      return String(nanos / nanosPerSecond);
    case "rfc3339":
      return dated(nanos, 0);
    case "rfc3339ms":
      return dated(nanos, 3);
    case "rfc3339ns":
      return dated(nanos, 9);
  }
}

function dated(nanos: bigint, digits: number): string {
  const seconds = new Date(Number(nanos / 1_000_000n)).toISOString().slice(0, 19);
  const fraction = String(nanos % nanosPerSecond)
    .padStart(9, "0")
    .slice(0, digits);
  return JSON.stringify(`${seconds}${digits === 0 ? "" : `.${fraction}`}Z`);
}

function bySize(number: bigint): bigint {
  if (number < 100_000_000_000n) return number * nanosPerSecond;
  return number < 100_000_000_000_000n ? number * 1_000_000n : number;
}
