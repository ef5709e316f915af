import { STATUS_CODES } from "node:http";
import type { ApiNote } from "./envelope";
import { trimEnd, escapeInvisible } from "../basics/printable";

/** Whether a failed request changed anything. */
export type Outcome =
  /** Cloudflare didn't apply the request. */
  | "notDone"
  /** Cloudflare may have applied the request: check before sending it again. */
  | "unknown";

/** The purpose of a request, which determines the advice after a failure. */
export interface Purpose {
  /** Whether the object is in the stack's state. */
  readonly isRecorded: boolean;
  /** Whether the settings are those saved by the last `up`, as in a refresh or destroy without the program. */
  readonly savedConfig: boolean;
}

export interface ApiErrorInit {
  /** What was attempted, as the start of a sentence: `Creating policy "checkout" in zone 0da4…`. */
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly outcome: Outcome;
  /** The HTTP status. Undefined if no response arrived. */
  readonly status?: number;
  readonly errors?: readonly ApiNote[];
  /**
   * Whether the response isn't in the API's envelope. It may come from a proxy, a captive portal or a wrong address.
   */
  readonly foreign?: boolean;
  /** Cloudflare's request ID, the Ray ID (`cf-ray`). */
  readonly requestId?: string | undefined;
  /** What happened, if Cloudflare gave no message. */
  readonly detail?: string;
  /** What to do next, as a sentence. */
  readonly advice?: string | undefined;
  /** What exists instead of what wasn't found, as a sentence. */
  readonly alternatives?: string | undefined;
  /** The feature that the plan must include. */
  readonly entitlement?: string | undefined;
  readonly attempts?: number;
  /** Whether the request wasn't sent at all; `detail` says why. */
  readonly unsent?: boolean;
  /** How long to wait before the next request, according to the response, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/**
 * Thrown for a failed request. Its message is complete: what was attempted, the response, code, request ID, next step.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number | undefined;
  readonly errors: readonly ApiNote[];
  readonly outcome: Outcome;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(readonly init: ApiErrorInit) {
    super(sentence(init), init.cause === undefined ? undefined : { cause: init.cause });
    this.status = init.status;
    this.errors = init.errors ?? [];
    this.outcome = init.outcome;
    this.requestId = init.requestId;
    this.retryAfterMs = init.retryAfterMs;
  }

  /** Whether Cloudflare returned one of these error codes. */
  hasCode(...codes: number[]): boolean {
    return this.errors.some((e) => e.code !== undefined && codes.includes(e.code));
  }
}

/** Thrown when the operation was cancelled or the Pulumi engine exited. Nothing more is sent. */
export class CancelledError extends Error {
  override readonly name = "CancelledError";

  constructor(
    message: string,
    /** "unknown" if a request was interrupted or an earlier attempt may have been applied. */
    readonly outcome: Outcome = "notDone",
  ) {
    super(message);
  }
}

/** Whether the change may have been made even though the call failed: check before making it again. */
export function mayHaveBeenApplied(error: unknown): error is ApiError | CancelledError {
  return (error instanceof ApiError || error instanceof CancelledError) && error.outcome === "unknown";
}

/**
 * Whether the API itself returned 404: the object, or its zone or account, doesn't exist. Another server's 404 page
 * doesn't count, because a wrong base URL would otherwise empty a stack's state.
 */
export function isNotFound(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404 && error.init.foreign !== true;
}

/**
 * Whether the error means that Cloudflare can't route the path. The zone may not exist or the URL may be wrong, so it
 * proves nothing about an object.
 */
export function isUnroutable(error: unknown): boolean {
  return error instanceof ApiError && error.hasCode(7000, 7003);
}

/** Whether the error proves that the object doesn't exist. */
export function isAbsent(error: unknown): error is ApiError {
  return isNotFound(error) && !isUnroutable(error);
}

/** Returns the result of a request. Undefined if the object doesn't exist. */
export async function unlessAbsent<T>(request: () => Promise<T>): Promise<T | undefined> {
  try {
    return await request();
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Whether a request changes nothing: KV also reads values by POST. */
export function isRead({ method, path }: Pick<ApiErrorInit, "method" | "path">): boolean {
  return method === "GET" || path.endsWith("/bulk/get");
}

function sentence(init: ApiErrorInit): string {
  const response =
    init.status === undefined
      ? `${init.method} ${init.path} ${init.unsent === true ? "was not sent" : "got no response"}`
      : `${init.method} ${init.path} returned ${init.status} ${STATUS_CODES[init.status] ?? ""}`.trimEnd();
  const reasons = (init.errors ?? []).map(
    (e) =>
      `${e.message}${e.code === undefined ? "" : ` [code ${e.code}]`}${e.pointer === undefined ? "" : ` at ${e.pointer}`}`,
  );
  if (reasons.length === 0 && init.detail !== undefined)
    reasons.push(trimEnd(escapeInvisible(init.detail), ". "));
  const parts = [`${init.what} failed: ${response}${reasons.length === 0 ? "" : `: ${reasons.join("; ")}`}`];
  if (init.attempts !== undefined && init.attempts > 1) parts.push(`after ${init.attempts} attempts`);
  if (init.requestId !== undefined) parts.push(`request ID ${escapeInvisible(init.requestId)}`);
  const unknown =
    init.outcome === "unknown" && !isRead(init) ? " Cloudflare may have applied the change." : "";
  const next = [init.advice, init.alternatives].flatMap((each) => (each === undefined ? [] : ` ${each}`));
  return `${parts.join(", ")}.${unknown}${next.join("")}`;
}
