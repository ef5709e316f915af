import type { Outcome } from "./errors";

/** Settings for retries. */
export const RETRY = {
  /** Statuses for which a retry may help. Those from 520 up come from Cloudflare's edge. */
  statuses: [408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 530],
  /** Methods that are safe to repeat. */
  repeatable: ["GET", "PUT", "DELETE"],
  /** The default of `edgeguard:maxRetries`, the number of retries after the first attempt. */
  maxRetries: 5,
  /** The first backoff, in milliseconds. It doubles with each attempt. */
  baseDelayMs: 400,
  /** The longest backoff, in milliseconds. `Retry-After` may ask for more. */
  maxDelayMs: 30_000,
  /**
   * The longest `Retry-After` to wait for, in milliseconds. If it's longer, the request fails, because a pipeline
   * shouldn't hang for an hour.
   */
  maxRetryAfterMs: 15 * 60_000,
} as const;

/**
 * Errors that occur before any byte of the request leaves this machine. The request can safely be repeated with any
 * method.
 */
const NEVER_SENT = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"];

/**
 * Errors from a proxy that's misconfigured or rejected the request. Nothing was sent, and a retry would fail the same
 * way.
 */
export const PROXY_REFUSED = "EDGEGUARD_PROXY";

/** Timeout errors. The next request to the same address would wait just as long. */
const TIMED_OUT = ["ETIMEDOUT", "UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"];

/** TLS errors. Nothing was sent, and a retry would get the same certificate. */
const NOT_TRUSTED = [
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
];

/** Errors that mean the connection was lost or too slow (unless raised while connecting). */
const LOST = [
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "UND_ERR_SOCKET",
  ...TIMED_OUT,
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  "HPE_INVALID_EOF_STATE",
];

/** How one attempt ended. */
export interface Attempt {
  readonly method: string;
  readonly status?: number;
  /** Whether the response isn't the API's envelope. */
  readonly foreign?: boolean | undefined;
  /** The error's `code`, if no complete response arrived. */
  readonly errorCode?: string | undefined;
  /** The error's `syscall`, such as "connect". */
  readonly syscall?: string | undefined;
}

/** Whether the attempt may have changed anything. */
export function outcomeOf({ status, errorCode, syscall }: Attempt): Outcome {
  if (status !== undefined) return status >= 500 || status === 408 ? "unknown" : "notDone";
  if (errorCode === undefined) return "unknown";
  return syscall === "connect" || [...NEVER_SENT, ...NOT_TRUSTED, PROXY_REFUSED].includes(errorCode)
    ? "notDone"
    : "unknown";
}

/** Whether the attempt timed out. */
export function hasTimedOut({ errorCode }: Pick<Attempt, "errorCode">): boolean {
  return errorCode !== undefined && TIMED_OUT.includes(errorCode);
}

interface Circumstances {
  /** The number of the attempt, counted from 1. */
  readonly attempt: number;
  readonly maxRetries: number | undefined;
  /** Whether repeating the request is safe. If undefined, the method decides. */
  readonly repeatable: boolean | undefined;
  /** The wait requested by `Retry-After`, in milliseconds. */
  readonly asked: number | undefined;
}

/** Returns how long to wait before the next attempt. Undefined if there should be none. */
export function retryDelayMs(
  ended: Attempt,
  { attempt, maxRetries = RETRY.maxRetries, repeatable = isRepeatable(ended.method), asked }: Circumstances,
): number | undefined {
  const isTooLong = asked !== undefined && asked > RETRY.maxRetryAfterMs;
  if (attempt > maxRetries || isTooLong || !shouldRetry(ended, repeatable)) return undefined;
  // "Retry-After: 0" must not cause a retry without a pause.
  return asked === undefined || asked === 0 ? backoffMs(attempt + 1) : asked;
}

function isRepeatable(method: string): boolean {
  return (RETRY.repeatable as readonly string[]).includes(method);
}

/** Whether a retry may help and is safe. */
export function shouldRetry(attempt: Attempt, repeatable: boolean): boolean {
  const { method, status, foreign, errorCode } = attempt;
  const mayHelp =
    status === undefined
      ? errorCode !== undefined && (NEVER_SENT.includes(errorCode) || LOST.includes(errorCode))
      : (RETRY.statuses as readonly number[]).includes(status) ||
        (method === "GET" && status < 300 && foreign === true); // Something in between garbled it.
  return mayHelp && (repeatable || outcomeOf(attempt) === "notDone");
}

/** Converts `Retry-After` (seconds or an HTTP date) to milliseconds. Undefined if it's missing or malformed. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Math.ceil(Number(header) * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

/** Returns the full-jitter backoff before attempt `next` (2 is the first retry). */
export function backoffMs(next: number, random: () => number = Math.random): number {
  return random() * Math.min(RETRY.maxDelayMs, RETRY.baseDelayMs * 2 ** (next - 2));
}
