import { STATUS_CODES } from "node:http";
import type { ApiNote } from "./envelope";

/** What a failed request leaves behind: nothing, or nobody knows. */
export type Outcome =
  /** The service surely did not carry the request out. */
  | "notDone"
  /** The request may or may not have been carried out: look before sending it again. */
  | "unknown";

export interface ApiErrorInit {
  /** What was attempted, as the start of a sentence: `Creating policy "checkout" in zone 0da4…`. */
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly outcome: Outcome;
  /** HTTP status; undefined when no answer arrived. */
  readonly status?: number;
  readonly errors?: readonly ApiNote[];
  /** The service's request id (`cf-ray`). */
  readonly requestId?: string | undefined;
  /** What arrived or happened, when the service's own words are missing. */
  readonly detail?: string;
  /** What the user can do next, as a sentence. */
  readonly advice?: string | undefined;
  readonly attempts?: number;
  readonly cause?: unknown;
}

/** A request that did not succeed. The message is complete: attempt, answer, code, request id, next step. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number | undefined;
  readonly errors: readonly ApiNote[];
  readonly outcome: Outcome;
  readonly requestId: string | undefined;

  constructor(readonly init: ApiErrorInit) {
    super(sentence(init), init.cause === undefined ? undefined : { cause: init.cause });
    this.status = init.status;
    this.errors = init.errors ?? [];
    this.outcome = init.outcome;
    this.requestId = init.requestId;
  }

  /** True when one of the service's error codes is among `codes`. */
  hasCode(...codes: number[]): boolean {
    return this.errors.some((e) => e.code !== undefined && codes.includes(e.code));
  }
}

/** The engine that asked for the work has gone, or the operation was cancelled: nothing more is sent. */
export class CancelledError extends Error {
  override readonly name = "CancelledError";
}

/** 404: the object, or what holds it, does not exist. */
export function isNotFound(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404;
}

/** The credential was refused: 401, 403, or one of the codes the service answers a malformed one with (facts 1.5). */
export function isCredentialRefused(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  return error.status === 401 || error.status === 403 || error.hasCode(6003, 6111, 9106, 10000);
}

/** No answer at all, or one nobody could read: the network, not the request, is to blame. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && error.status === undefined;
}

function sentence(init: ApiErrorInit): string {
  const answered =
    init.status === undefined
      ? `${init.method} ${init.path} got no answer`
      : `${init.method} ${init.path} answered ${init.status} ${STATUS_CODES[init.status] ?? ""}`.trimEnd();
  const words = (init.errors ?? []).map(
    (e) =>
      `${e.message.replace(/[.\s]+$/, "")}${e.code === undefined ? "" : ` [code ${e.code}]`}${e.pointer === undefined ? "" : ` at ${e.pointer}`}`,
  );
  if (words.length === 0 && init.detail !== undefined) words.push(init.detail.replace(/[.\s]+$/, ""));
  const parts = [`${init.what} failed: ${answered}${words.length === 0 ? "" : `: ${words.join("; ")}`}`];
  if (init.attempts !== undefined && init.attempts > 1) parts.push(`after ${init.attempts} attempts`);
  if (init.requestId !== undefined) parts.push(`request id ${init.requestId}`);
  const unknown = init.outcome === "unknown" && init.method !== "GET" ? " It may have been carried out." : "";
  return `${parts.join(", ")}.${unknown}${init.advice === undefined ? "" : ` ${init.advice}`}`;
}
