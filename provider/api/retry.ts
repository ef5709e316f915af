import type { Outcome } from "./errors";

/** When a request is sent again, as data. */
export const RETRY = {
  /** Answers that a later attempt may better; from 520 on they are those of Cloudflare's own edge. */
  statuses: [408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 530],
  /** Methods whose second execution changes nothing more than the first. */
  repeatable: ["GET", "PUT", "DELETE"],
  /** Retries after the first attempt, unless `edgeguard:maxRetries` says otherwise. */
  maxRetries: 5,
  /** First backoff; doubles with each attempt. */
  baseDelayMs: 400,
  /** Longest backoff of our own choosing. `Retry-After` may ask for more and gets it. */
  maxDelayMs: 30_000,
  /** A `Retry-After` beyond this is reported instead of waited for: a pipeline should not hang for an hour. */
  maxRetryAfterMs: 15 * 60_000,
} as const;

/** Errors raised before a byte of the request left this machine: safe to repeat, whatever the method. */
const NEVER_SENT = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"];

/** A proxy that is badly set, or that refused: nothing was sent, and trying again meets the same. */
export const PROXY_REFUSED = "EDGEGUARD_PROXY";

/** Errors that mean a time limit has passed: the next request to the same address would wait as long. */
const TIMED_OUT = ["ETIMEDOUT", "UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"];

/** Errors of the secure connection: nothing was sent, and trying again shows the same certificate. */
const NOT_TRUSTED = [
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
];

/** Errors that mean the connection was lost or too slow, unless they were raised while it was being made. */
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

/** How one attempt ended, as far as repeating it is concerned. */
export interface Attempt {
  readonly method: string;
  readonly status?: number;
  /** The answer was not the API's envelope. */
  readonly foreign?: boolean | undefined;
  /** `code` of the error when no complete answer arrived. */
  readonly errorCode?: string | undefined;
  /** `syscall` of that error: "connect" while the connection was being made. */
  readonly syscall?: string | undefined;
}

/** Whether the attempt may have changed something. */
export function outcomeOf({ status, errorCode, syscall }: Attempt): Outcome {
  if (status !== undefined) return status >= 500 || status === 408 ? "unknown" : "notDone";
  if (errorCode === undefined) return "unknown";
  return syscall === "connect" || [...NEVER_SENT, ...NOT_TRUSTED, PROXY_REFUSED].includes(errorCode)
    ? "notDone"
    : "unknown";
}

/** Whether a time limit ended the attempt. */
export function hasTimedOut({ errorCode }: Pick<Attempt, "errorCode">): boolean {
  return errorCode !== undefined && TIMED_OUT.includes(errorCode);
}

interface Circumstances {
  /** Which attempt it was, from 1. */
  readonly attempt: number;
  readonly maxRetries: number | undefined;
  /** Whether a second execution does no harm; by the method where nobody says. */
  readonly repeatable: boolean | undefined;
  /** What `Retry-After` asked for, in milliseconds. */
  readonly asked: number | undefined;
}

/** How long to wait before the request is sent once more; undefined where it is not. */
export function retryDelayMs(
  ended: Attempt,
  { attempt, maxRetries = RETRY.maxRetries, repeatable = isRepeatable(ended.method), asked }: Circumstances,
): number | undefined {
  const hangs = asked !== undefined && asked > RETRY.maxRetryAfterMs;
  if (attempt > maxRetries || hangs || !shouldRetry(ended, repeatable)) return undefined;
  // "Retry-After: 0" says nothing of when, and must not make us ask again without a pause.
  return asked === undefined || asked === 0 ? backoffMs(attempt + 1) : asked;
}

function isRepeatable(method: string): boolean {
  return (RETRY.repeatable as readonly string[]).includes(method);
}

/** Whether to send the request once more: a later attempt may help, and repeating it does no harm. */
export function shouldRetry(attempt: Attempt, repeatable: boolean): boolean {
  const { method, status, foreign, errorCode } = attempt;
  const mayHelp =
    status === undefined
      ? errorCode !== undefined && (NEVER_SENT.includes(errorCode) || LOST.includes(errorCode))
      : (RETRY.statuses as readonly number[]).includes(status) ||
        (method === "GET" && status < 300 && foreign === true); // Something on the way has garbled it.
  return mayHelp && (repeatable || outcomeOf(attempt) === "notDone");
}

/** Milliseconds that `Retry-After` asks for (seconds or an HTTP date), or undefined when it is missing or unreadable. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Math.ceil(Number(header) * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

/** Full-jitter backoff before attempt `next` (2 is the first retry). */
export function backoffMs(next: number, random: () => number = Math.random): number {
  return random() * Math.min(RETRY.maxDelayMs, RETRY.baseDelayMs * 2 ** (next - 2));
}
