import { LIMIT_ERRORS, WORKERS, REQUESTS, formatAmount, type Amount, type ZonePlan } from "../limits/workers";

/** An error to explain: its status, its code or both. */
export interface ErrorToExplain {
  /** The HTTP status. */
  readonly status?: number;
  /** A code from the API's `errors`, or the number of an error page, such as 1027. */
  readonly code?: number;
  /** The zone's plan, if known. The explanation then includes only that plan's limit. */
  readonly plan?: ZonePlan;
}

/**
 * Explains an HTTP status, an error page or an API error code: what it means, which limit and plan it's about, and what
 * to do. Covers the statuses 413 and 429, the error pages 1015 and 1027, and common error codes of Cloudflare's API.
 *
 * @returns undefined for an error that's self-explanatory or unknown.
 * @example Explain an error page that visitors see
 * ```ts
 * import { explainError } from "pulumi-edgeguard";
 *
 * console.log(explainError({ code: 1027, plan: "free" }));
 * ```
 * @see https://developers.cloudflare.com/workers/observability/errors/
 * @see https://developers.cloudflare.com/workers/platform/limits/
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

/** Explains what an API error code means and what to do, in addition to the API's own message. */
export function explainCode(code: number | undefined, status?: number): string | undefined {
  if (code === undefined) return undefined;
  if (code === 1004) return status === undefined ? `${JOBS} ${FILTER}` : status === 403 ? JOBS : FILTER;
  return MEANINGS[code];
}

/** Explains status 413, for one plan or for all. */
export function tooLarge(plan?: ZonePlan): string {
  const limits: Readonly<Record<ZonePlan, Amount>> = REQUESTS.body.limit;
  if (plan !== undefined) {
    const raised = plan === "enterprise" ? ", unless Cloudflare granted more" : "";
    return `The request body is larger than the ${plan} plan's limit of ${formatAmount(limits[plan])}${raised}. Send smaller requests.`;
  }
  const { free, pro, business, enterprise } = limits;
  return `The request body is larger than the plan allows (free ${formatAmount(free)}, pro ${formatAmount(pro)}, business ${formatAmount(business)}, enterprise ${formatAmount(enterprise)}, unless Cloudflare granted more). Send smaller requests.`;
}

// Formatted on demand, because formatting the first number takes as long as loading a module.
const perDay = (): string => amountText(WORKERS.requestsPerDay.limit.free);
const perMinute = (): string => amountText(WORKERS.requestsPerMinute.limit.free);

function amountText(amount: Amount | null): string {
  return amount === null ? "any number of" : formatAmount(amount);
}

function tooMany(): string {
  return (
    "Too many requests. Cloudflare's API allows 1,200 requests per 5 minutes per user and 200 per second per IP address, then refuses all requests for 5 minutes. Wait for the time in Retry-After, or send fewer requests. " +
    `Workers on the Free plan, including their workers.dev subdomain, get ${perDay()} requests per day and ${perMinute()} per minute per account. Wait until the next minute or until midnight UTC, or switch to a paid plan, which has neither limit.`
  );
}

function heldBack(): string {
  return (
    `Visitors are rate-limited. Either the account used up the Workers Free plan's ${perDay()} requests per day or ${perMinute()} per minute, or Cloudflare treated thousands of requests per second from a few IP addresses as abuse. API clients get a 429; security events show the rule "${LIMIT_ERRORS.freeLimit.securityEventRule}". ` +
    `Once the daily limit is reached, requests to a route that fails open bypass the Worker, and a route that fails closed shows error ${LIMIT_ERRORS.dailyLimitFailClosed.page}. Paid plans have neither limit.`
  );
}

function failedClosed(): string {
  return `The account used up the Workers Free plan's ${perDay()} requests per day, and the route fails closed. The route works again after midnight UTC. To serve visitors until then, make the route fail open, so that requests bypass the Worker, or switch to a paid plan, which has no daily limit.`;
}

const JOBS =
  "The zone has reached its limit of Logpush jobs. Delete a job, or ask Cloudflare to raise the limit.";

const FILTER =
  "A value in the filter has the wrong type: `in` and `!in` take an array, and a numeric field takes a number.";

const MALFORMED_HEADER =
  "The authorization header is malformed. Set the token again, without spaces, quotes or line breaks.";

export const MEANINGS: Readonly<Record<number, string>> = {
  6003: MALFORMED_HEADER,
  6111: MALFORMED_HEADER,
  7000: "The API has no such path. Check the base URL and the IDs in the path.",
  7003: "The path doesn't identify an object. Check the base URL and the IDs in the path.",
  9106: "The email or the API key is missing or wrong. Set both again, or use a token.",
  10000: "The token lacks permission for this call, or was revoked. Check its permissions in the dashboard.",
  10003:
    "The zone has no rules in this phase yet. The first rule you deploy creates the entry point ruleset.",
  10009: "The namespace has no such key, or the key has expired.",
  10012: "Cloudflare can't parse the body of the bulk request. Send an array of entries or keys.",
  10013: "The account has no such namespace: it was deleted, or its ID belongs to another account.",
  10014:
    "Namespace titles must be unique per account. Choose another, or use the namespace that has this title.",
  10019: "A namespace needs a title of 1 to 512 characters.",
  10029: "A bulk read must list 1 to 100 keys.",
  10034: "TTL must be at least 60 seconds.",
  10405: "The path doesn't accept this method. An ID in the path may be empty.",
  20217: "The phase already has an entry point ruleset. Update that ruleset instead.",
};
