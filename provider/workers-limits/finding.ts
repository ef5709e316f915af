import { boundsOf, formatAmount, formatMeasured, type Limit } from "../limits/workers";

/** A check's result for one limit. */
export interface LimitFinding {
  /**
   * `"error"`: above the limit with the larger unit (1 MB is 1,048,576 bytes). `"warning"`: at 80% or more of the limit
   * with the smaller unit (1 MB is 1,000,000 bytes). `"info"`: known only at run time.
   */
  readonly level: "error" | "warning" | "info";
  /** The limit's name in `limits.WORKERS` or `limits.REQUESTS`. */
  readonly limit: string;
  /** A sentence with the measurement, the limit and the plan. Never contains any of the Worker's values. */
  readonly message: string;
  /** The measurement: in bytes, in milliseconds, or a count. Absent if it's unknown. */
  readonly measured?: number;
  /** The limit, in the unit of `measured`, with 1 MB as 1,048,576 bytes. */
  readonly allowed: number;
  /** Cloudflare's page about the limit. */
  readonly source: string;
}

/** Thrown if an argument of a check is invalid. */
export class CheckError extends Error {
  override readonly name = "CheckError";
}

/** The fraction of a limit at which a check starts to warn. */
const NEAR = 0.8;

export interface Measure<Column extends string> {
  readonly name: string;
  readonly limit: Limit<Column>;
  readonly column: Column;
  /** Where the limit applies, such as `on the free plan`. */
  readonly where: string;
  /** What's measured, such as `Environment variable "HOSTS"`. By default, the limit's name. */
  readonly subject?: string;
  /** What to do about an error. */
  readonly advice?: string;
}

/**
 * Compares a measurement with its limit. Returns no finding if there's no limit, or if the measurement is below 80% of
 * it.
 */
export function compareWithLimit<Column extends string>(
  { name, limit, column, where, subject = limit.feature, advice }: Measure<Column>,
  measured: number,
): LimitFinding[] {
  if (!Number.isFinite(measured) || measured < 0)
    throw new CheckError(`${subject}: ${measured} is not a measurement. Use a number, 0 or more.`);
  const amount = limit.limit[column];
  if (amount === null) return [];
  const { documented, most } = boundsOf(amount);
  if (measured < documented * NEAR) return [];
  const begin = `${subject}: ${formatMeasured(measured, amount)}`;
  const limitText = `the limit of ${formatAmount(amount)} ${where}`;
  const raised = limit.onRequest?.includes(column) === true ? " Cloudflare raises it on request." : "";
  const found = { limit: name, measured, allowed: most, source: limit.source };
  if (measured > most) {
    const next = advice === undefined ? "" : ` ${advice}`;
    return [{ level: "error", message: `${begin}, over ${limitText}.${raised}${next}`, ...found }];
  }
  const share =
    measured > documented
      ? `within ${limitText} only if Cloudflare counts in units of 1,024`
      : `${Math.floor((measured / documented) * 100)}% of ${limitText}`;
  return [{ level: "warning", message: `${begin}, ${share}.${raised}`, ...found }];
}

/** Returns the finding for a limit that can be checked only at run time. */
export function knownAtRunTime<Column extends string>({
  name,
  limit,
  column,
  where,
  advice,
}: Measure<Column>): LimitFinding[] {
  const amount = limit.limit[column];
  if (amount === null) return [];
  const next = advice === undefined ? "" : ` ${advice}`;
  const message = `${limit.feature}: known only at run time. The limit ${where} is ${formatAmount(amount)}.${next}`;
  return [{ level: "info", limit: name, message, allowed: boundsOf(amount).most, source: limit.source }];
}
