import {
  LIMIT_ERRORS,
  WORKERS,
  REQUESTS,
  formatAmount,
  type Amount,
  type ZonePlan,
} from "../limits/workers";

export interface ErrorToExplain {
  /** HTTP status. */
  readonly status?: number;
  /** Code in the API's `errors`, or of an error page. */
  readonly code?: number;
  /** Plan of the zone, where it is known: a sentence then names its limit alone. */
  readonly plan?: ZonePlan;
}

/**
 * What an error means, with the limit, the plan and the next step: for the statuses 413 and 429, the error pages 1015
 * and 1027 (seed 002, "Errors"), and the codes of the API that are known (facts 1.5).
 *
 * @returns undefined for what says enough by itself, or is not known.
 */
export function explainError({ status, code, plan }: ErrorToExplain): string | undefined {
  const { bodyTooLarge, freeLimit, dailyLimitFailClosed } = LIMIT_ERRORS;
  if (code === freeLimit.page) return heldBack();
  if (code === dailyLimitFailClosed.page) return failedClosed();
  const known = explainCode(code, status);
  if (known !== undefined) return known;
  if (status === bodyTooLarge.status) return tooLarge(plan);
  return status === freeLimit.status ? tooMany() : undefined;
}

/** The meaning of a code of the API, as the next step after its own words. */
export function explainCode(code: number | undefined, status?: number): string | undefined {
  if (code === undefined) return undefined;
  if (code === 1004) return status === undefined ? `${JOBS} ${FILTER}` : status === 403 ? JOBS : FILTER;
  return MEANINGS[code];
}

/** The meaning of 413, for a plan or for all of them. */
export function tooLarge(plan?: ZonePlan): string {
  const limits: Readonly<Record<ZonePlan, Amount>> = REQUESTS.body.limit;
  if (plan !== undefined) {
    const raised = plan === "enterprise" ? ", unless the service has granted more" : "";
    return `The body is larger than the ${formatAmount(limits[plan])} of the ${plan} plan${raised}: send less at a time.`;
  }
  const { free, pro, business, enterprise } = limits;
  return `The body is larger than the plan allows (free ${formatAmount(free)}, pro ${formatAmount(pro)}, business ${formatAmount(business)}, enterprise ${formatAmount(enterprise)} unless more was granted): send less at a time.`;
}

// Made when they are asked for: to write a figure for people takes the first time as long as loading a module does.
const perDay = (): string => figureOf(WORKERS.requestsPerDay.limit.free);
const perMinute = (): string => figureOf(WORKERS.requestsPerMinute.limit.free);

function figureOf(amount: Amount | null): string {
  return amount === null ? "any number of" : formatAmount(amount);
}

function tooMany(): string {
  return (
    "Too many requests. The API takes 1,200 in 5 minutes from a user and 200 a second from an address, and then refuses all for 5 minutes: wait as long as Retry-After says, or send fewer. " +
    `An edge function's account takes ${perDay()} requests a day and ${perMinute()} a minute on the free plan, with its default subdomain: wait for the next minute or for midnight UTC, or take a paid plan, which has no such limit.`
  );
}

function heldBack(): string {
  return (
    `Visitors are held back: the account's ${perDay()} requests a day or ${perMinute()} a minute of the free plan are used up (programs see 429, the security events name the rule "${LIMIT_ERRORS.freeLimit.securityEventRule}"), or thousands of requests a second from few addresses were taken for abuse. ` +
    `Once the day's requests are used up, a route that fails open lets requests pass the function by, as if there were none; one that fails closed shows error ${LIMIT_ERRORS.dailyLimitFailClosed.page}. A paid plan has no such limit.`
  );
}

function failedClosed(): string {
  return `The account's ${perDay()} requests a day of the free plan are used up, and the route fails closed. It works again after midnight UTC; let the route fail open to pass the function by until then, or take a paid plan, which has no such limit.`;
}

const JOBS =
  "The zone has as many log-push jobs as it may have, or its plan has none: delete a job, or ask for the feature.";

const FILTER =
  "The filter does not suit its field: `in` and `!in` take an array, and a number is to be compared with a number.";

const MALFORMED_HEADER =
  "The authorization header is malformed: set the token again, without spaces, quotes or line breaks.";

const MEANINGS: Readonly<Record<number, string>> = {
  6003: MALFORMED_HEADER,
  6111: MALFORMED_HEADER,
  7000: "The address has no such path: an id in it is malformed, or the base address is wrong.",
  7003: "The address names no object: an id in it is wrong or malformed, or the base address is.",
  9106: "Email and key are missing or wrong: set both again, or use a token.",
  10000:
    "The token lacks the permission for this call, or was revoked: look at its permissions in the dashboard.",
  10003: "The zone has no rules in this phase yet: deploying the first one makes what was asked for.",
  10009: "The namespace has no such key, or it has expired.",
  10012: "The service could not read the body of a bulk operation: it takes an array of entries, or of keys.",
  10013: "The account has no such namespace: it was deleted, or the id is that of another account.",
  10014: "A title may stand once in an account: choose another, or use the namespace that bears it.",
  10019: "A namespace needs a title: 1 to 512 characters.",
  10029: "A bulk read needs at least one key, and takes up to 100.",
  10034: "A lifetime has at least 60 seconds.",
  10405: "The path does not take this method: an id in it may be empty.",
  20217: "The phase has an entry point already: read it and change that one.",
};
