import { STATUS_CODES } from "node:http";
import type { ApiNote } from "./envelope";
import { trimEnd, escapeInvisible } from "./printable";

/** What a failed request leaves behind: nothing, or nobody knows. */
export type Outcome =
  /** Cloudflare surely did not carry the request out. */
  | "notDone"
  /** The request may or may not have been carried out: look before sending it again. */
  | "unknown";

/** What a request is made for, as far as the advice after a failure depends on it. */
export interface Purpose {
  /** The stack has recorded the object already. */
  readonly isRecorded: boolean;
  /** A refresh or destroy without the program: its settings are those that the last `up` saved. */
  readonly savedConfig: boolean;
}

export interface ApiErrorInit {
  /** What was attempted, as the start of a sentence: `Creating policy "checkout" in zone 0da4…`. */
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly outcome: Outcome;
  /** HTTP status; undefined when no answer arrived. */
  readonly status?: number;
  readonly errors?: readonly ApiNote[];
  /** The answer was not the API's envelope: a proxy, a portal or a wrong address may have given it. */
  readonly foreign?: boolean;
  /** Cloudflare's request id (`cf-ray`). */
  readonly requestId?: string | undefined;
  /** What arrived or happened, when Cloudflare's own words are missing. */
  readonly detail?: string;
  /** What the user can do next, as a sentence. */
  readonly advice?: string | undefined;
  /** What the plan has to include for this. */
  readonly entitlement?: string | undefined;
  readonly attempts?: number;
  /** It was not sent at all; `detail` says why. */
  readonly unsent?: boolean;
  /** What the answer asked to wait before the next request, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** A request that did not succeed. The message is complete: attempt, answer, code, request id, next step. */
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

  /** True when one of Cloudflare's error codes is among `codes`. */
  hasCode(...codes: number[]): boolean {
    return this.errors.some((e) => e.code !== undefined && codes.includes(e.code));
  }
}

/** The engine that asked for the work has gone, or the operation was cancelled: nothing more is sent. */
export class CancelledError extends Error {
  override readonly name = "CancelledError";

  constructor(
    message: string,
    /** "unknown" when a request was broken off, or an earlier attempt may have been carried out. */
    readonly outcome: Outcome = "notDone",
  ) {
    super(message);
  }
}

/** The change that was asked for may have been made, although the call failed: look before making it again. */
export function mayHaveBeenApplied(error: unknown): error is ApiError | CancelledError {
  return (error instanceof ApiError || error instanceof CancelledError) && error.outcome === "unknown";
}

/**
 * 404 in the API's own words: the object, or what holds it, does not exist. A 404 page of something else proves nothing:
 * taken for an absence it would empty a state whose base address is wrong.
 */
export function isNotFound(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404 && error.init.foreign !== true;
}

/**
 * Cloudflare could not make sense of the path. The zone may be gone; as well may the address be wrong, so
 * nothing may be concluded of an object.
 */
export function isUnroutable(error: unknown): boolean {
  return error instanceof ApiError && error.hasCode(7000, 7003);
}

/** The object surely does not exist. */
export function isAbsent(error: unknown): error is ApiError {
  return isNotFound(error) && !isUnroutable(error);
}

/** Nobody reads further than this in what a server has to say. */
const LONGEST_CLAUSE = 2_000;

function clause(given: string): string {
  const text = escapeInvisible(given.trim());
  const short = text.length > LONGEST_CLAUSE ? `${text.slice(0, LONGEST_CLAUSE)} …` : text;
  return trimEnd(short, ". ");
}

function sentence(init: ApiErrorInit): string {
  const answered =
    init.status === undefined
      ? `${init.method} ${init.path} ${init.unsent === true ? "was not sent" : "got no answer"}`
      : `${init.method} ${init.path} answered ${init.status} ${STATUS_CODES[init.status] ?? ""}`.trimEnd();
  const words = (init.errors ?? []).map(
    (e) =>
      `${clause(e.message)}${e.code === undefined ? "" : ` [code ${e.code}]`}${e.pointer === undefined ? "" : ` at ${escapeInvisible(e.pointer)}`}`,
  );
  if (words.length === 0 && init.detail !== undefined) words.push(clause(init.detail));
  const parts = [`${init.what} failed: ${answered}${words.length === 0 ? "" : `: ${words.join("; ")}`}`];
  if (init.attempts !== undefined && init.attempts > 1) parts.push(`after ${init.attempts} attempts`);
  if (init.requestId !== undefined) parts.push(`request id ${escapeInvisible(init.requestId)}`);
  const unknown = init.outcome === "unknown" && init.method !== "GET" ? " It may have been carried out." : "";
  return `${parts.join(", ")}.${unknown}${init.advice === undefined ? "" : ` ${init.advice}`}`;
}
