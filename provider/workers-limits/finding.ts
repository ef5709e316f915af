import { boundsOf, formatAmount, formatMeasured, type Amount, type Limit } from "../limits/workers";

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

/** A row of a check: a number to compare with a limit. */
export interface Measurement<Name extends string> {
  readonly limit: Name;
  /** Undefined if it isn't given, so that there's nothing to check. */
  readonly measured: number | "at run time" | undefined;
  /** What's measured, such as `Environment variable "HOSTS"`. By default, the limit's name. */
  readonly subject?: string | undefined;
  /** What to do about a measurement above the limit. */
  readonly advice?: string | undefined;
  /** Why a measurement above the limit is only a warning. */
  readonly tolerated?: string | undefined;
  /** A limit that's set for the Worker itself, and counts if it's lower. */
  readonly own?: Amount | undefined;
}

/** The limits that a check compares with. */
export interface LimitTable<Name extends string, Column extends string> {
  readonly limits: Readonly<Record<Name, Limit<Column>>>;
  readonly column: Column;
  /** Where the column applies, such as `on the free plan`. */
  readonly where: string;
}

const ORDER = ["error", "warning", "info"] as const;

/** Compares each measurement with its limit, errors first. One below 80% of its limit is no finding. */
export function findingsOf<Name extends string, Column extends string>(
  table: LimitTable<Name, Column>,
  rows: readonly Measurement<Name>[],
): readonly LimitFinding[] {
  const found = rows.flatMap((row) => findingOf(table, row));
  return ORDER.flatMap((level) => found.filter((finding) => finding.level === level));
}

function findingOf<Name extends string, Column extends string>(
  { limits, column, where: planned }: LimitTable<Name, Column>,
  { limit: name, measured, subject, advice, tolerated, own }: Measurement<Name>,
): LimitFinding[] {
  const { feature, limit, onRequest, source } = limits[name];
  const what = subject ?? feature;
  if (typeof measured === "number" && !(measured >= 0 && measured < Infinity))
    throw new CheckError(`${what}: ${measured} is not a measurement. Use a number, 0 or more.`);
  const byPlan = limit[column];
  if (measured === undefined || byPlan === null) return [];
  const isOwn = own !== undefined && boundsOf(own).most < boundsOf(byPlan).most;
  const amount = isOwn ? own : byPlan;
  const where = isOwn ? `set for this Worker (the plan allows ${formatAmount(byPlan)})` : planned;
  const { documented, most } = boundsOf(amount);
  const found = { limit: name, allowed: most, source };
  const withAdvice = (message: string): string => [message, advice, tolerated].filter(Boolean).join(" ");
  if (measured === "at run time") {
    const message = `${what}: known only at run time. The limit ${where} is ${formatAmount(amount)}.`;
    return [{ level: "info", message: withAdvice(message), ...found }];
  }
  if (measured < documented * NEAR) return [];
  const begin = `${what}: ${formatMeasured(measured, amount)}`;
  const limitText = `the limit of ${formatAmount(amount)} ${where}`;
  const raised = onRequest?.includes(column) === true ? " Cloudflare raises it on request." : "";
  if (measured > most) {
    const message = withAdvice(`${begin}, over ${limitText}.${raised}`);
    return [{ level: tolerated === undefined ? "error" : "warning", message, measured, ...found }];
  }
  const share =
    measured > documented
      ? `within ${limitText} only if Cloudflare counts in units of 1,024`
      : `${Math.floor((measured / documented) * 100)}% of ${limitText}`;
  return [{ level: "warning", message: `${begin}, ${share}.${raised}`, measured, ...found }];
}
