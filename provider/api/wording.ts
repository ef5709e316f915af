import type { ApiNote } from "./envelope";
import {
  ApiError,
  CancelledError,
  CREDENTIAL_CODES,
  isCredentialRefused,
  isUnauthenticated,
  type Outcome,
} from "./errors";
import { tooLarge, explainCode } from "./explain";

/** No credential was found. Raised before anything is sent. */
export class MissingCredentialsError extends Error {
  override readonly name = "MissingCredentialsError";
  constructor(what: string) {
    super(
      `${what} needs credentials and none are set. Set a token with "pulumi config set --secret edgeguard:apiToken <token>" or in CLOUDFLARE_API_TOKEN; ` +
        "or an email and key with edgeguard:apiEmail and edgeguard:apiKey, or CLOUDFLARE_EMAIL and CLOUDFLARE_API_KEY.",
    );
  }
}

export const SAVED_TOKEN =
  "If this is a refresh or destroy: it uses the token saved by the last up: run `pulumi up`, or refresh with --run-program.";

/** Adds what is known of the credential to a refusal; the sentence then says which one to look at. */
export function explained(error: unknown, origin = ""): unknown {
  if (!isCredentialRefused(error) || error.init.advice !== undefined) return error;
  const saved = origin.includes(":") ? ` ${SAVED_TOKEN}` : "";
  const advice = isUnauthenticated(error)
    ? `The credential from ${origin} was refused: it is wrong, revoked, expired, or made for something else.${saved}`
    : `The call is forbidden: the credential from ${origin} lacks the permission, or the plan lacks the feature.`;
  return new ApiError({ ...error.init, advice });
}

/** The next step after an answer, where its status or code tells one. */
export function adviceFor(
  status: number,
  errors: readonly ApiNote[],
  retryAfter: number | undefined,
): string | undefined {
  if (errors.some((e) => e.code === 7003)) {
    return "The zone or account does not exist, or edgeguard:baseUrl is wrong: check the id. Where it is gone for good, forget what the stack has recorded of it with `pulumi state delete`.";
  }
  const asked = retryAfter === undefined ? "" : ` It asks to wait ${Math.ceil(retryAfter / 1000)} s.`;
  if (status === 429) {
    return `The rate limit is used up.${asked} Lower edgeguard:requestsPerSecond, or run again later.`;
  }
  if (status === 413) return tooLarge();
  if (status >= 500)
    return `The service is in trouble; what was done so far is recorded.${asked} Run the command again.`;
  // Of the credential more can be said where it is known which one was sent: see `explained`.
  const known = errors.find(({ code }) => code !== undefined && !CREDENTIAL_CODES.includes(code));
  return explainCode(known?.code, status);
}

/** What is left of an answer that did not arrive whole. */
export interface Loss {
  readonly errorCode: string | undefined;
  readonly cause: unknown;
  /** True when the answer had begun: the request had been carried out, or refused, and nobody knows which. */
  readonly cutOff: boolean;
}

/** How an answer got lost. */
export function lostDetail(lost: Loss, baseUrl: string): string {
  const reason = lost.cause instanceof Error ? lost.cause.message : String(lost.cause);
  const code = lost.errorCode === undefined ? "" : ` (${lost.errorCode})`;
  return lost.cutOff
    ? `the answer was cut off${code}`
    : `${reason === "" ? "no connection" : reason}${code} at ${new URL(baseUrl).origin}`;
}

/** The beginning of a body that nobody can read. */
export function excerpt(text: string): string {
  const short = text.slice(0, 10_000).replace(/\s+/g, " ").trim().slice(0, 120);
  return short === "" ? "empty" : JSON.stringify(short);
}

export function cancelled(what: string, outcome: Outcome): CancelledError {
  const why = "the operation was cancelled or its engine has gone";
  return outcome === "unknown"
    ? new CancelledError(`${what} was cut short: ${why}. It may have been carried out.`, outcome)
    : new CancelledError(`${what} was not carried out: ${why}.`, outcome);
}
