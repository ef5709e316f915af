import type { ApiNote } from "./envelope";
import { CREDENTIAL_CODES } from "./credential";
import { CancelledError, type Outcome, type Purpose } from "./errors";
import type { LostAnswer } from "./exchange";
import { explainCode, tooLarge } from "./explain";

/** The next step after an answer, where its status or code tells one. */
export function adviceFor(
  status: number,
  errors: readonly ApiNote[],
  retryAfter: number | undefined,
  purpose?: Purpose,
): string | undefined {
  if (errors.some((e) => e.code === 7003)) {
    const forget =
      purpose?.isRecorded === true
        ? " Or the token can no longer see it: check which zones and accounts it covers. If it is gone for good, remove what the stack has recorded of it with `pulumi state delete '<URN>'`; `pulumi stack --show-urns` lists the URNs."
        : "";
    return `The zone or account does not exist, or edgeguard:baseUrl is wrong: check the ID.${forget}`;
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

/** How an answer got lost. */
export function lostDetail(lost: LostAnswer, baseUrl: string): string {
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
