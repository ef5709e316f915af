import { boundsOf, formatMeasured as measuredIn, formatAmount, type Limit } from "../limits/workers";

/** What a check has to say of one limit. */
export interface LimitFinding {
  /**
   * `"error"`: beyond the limit, by the larger reading of its unit (1 MB is 1,048,576 bytes). `"warning"`: from 80% of the
   * smaller reading (1 MB is 1,000,000 bytes). `"info"`: it cannot be known before run time.
   */
  readonly level: "error" | "warning" | "info";
  /** Its name in `limits.EDGE_FUNCTION` or `limits.EDGE_REQUEST`. */
  readonly limit: string;
  /** A sentence with the measure, the limit and the plan. Never a value of the function's. */
  readonly message: string;
  /** In bytes, milliseconds, or as a count; absent where it is not known. */
  readonly measured?: number;
  /** The limit by its larger reading, in the same unit. */
  readonly allowed: number;
  /** Seed file and section. */
  readonly source: string;
}

/** A check was given something that it cannot look at. */
export class CheckError extends Error {
  override readonly name = "CheckError";
}

/** From this share of a limit on, a warning is due. */
const NEAR = 0.8;

export interface Measure<Column extends string> {
  readonly name: string;
  readonly limit: Limit<Column>;
  readonly column: Column;
  /** As in `the free plan`. */
  readonly plan: string;
  /** What exactly is measured, where the limit's own words do not say: `Environment variable "HOSTS"`. */
  readonly subject?: string;
  /** Next step where it is too much. */
  readonly advice?: string;
}

/** Nothing where the measure is well within the limit, or there is none. */
export function held<Column extends string>(
  { name, limit, column, plan, subject = limit.feature, advice }: Measure<Column>,
  measured: number,
): LimitFinding[] {
  if (!Number.isFinite(measured) || measured < 0)
    throw new CheckError(`${subject} is given as ${measured}; write a number, 0 or more.`);
  const amount = limit.limit[column];
  if (amount === null) return [];
  const { documented, most } = boundsOf(amount);
  if (measured < documented * NEAR) return [];
  const what = `${subject}: ${measuredIn(measured, amount)}`;
  const raised = limit.onRequest?.includes(column) === true ? " The service raises it on request." : "";
  const found = { limit: name, measured, allowed: most, source: limit.source };
  if (measured > most) {
    const next = advice === undefined ? "" : ` ${advice}`;
    return [
      {
        level: "error",
        message: `${what}; the limit of ${plan} is ${formatAmount(amount)}.${raised}${next}`,
        ...found,
      },
    ];
  }
  const share =
    measured > documented
      ? `which is within the limit of ${formatAmount(amount)} only if it is counted in units of 1,024`
      : `${Math.floor((measured / documented) * 100)}% of the limit of ${formatAmount(amount)}`;
  return [{ level: "warning", message: `${what}, ${share} (${plan}).${raised}`, ...found }];
}

/** Says that the limit is there and cannot be looked at yet. */
export function atRunTime<Column extends string>({
  name,
  limit,
  column,
  plan,
  advice,
}: Measure<Column>): LimitFinding[] {
  const amount = limit.limit[column];
  if (amount === null) return [];
  const message = `${limit.feature}: known at run time only; the limit of ${plan} is ${formatAmount(amount)}.${advice === undefined ? "" : ` ${advice}`}`;
  return [{ level: "info", limit: name, message, allowed: boundsOf(amount).most, source: limit.source }];
}
