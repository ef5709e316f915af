import type { ApiNote } from "./envelope";
import { CREDENTIAL_CODES } from "./credential";
import { CancelledError, type Outcome, type Purpose } from "./errors";
import type { LostResponse } from "./exchange";
import { explainCode, tooLarge } from "./explain";

/** Returns what to do after a failed request, based on its status or code. */
export function adviceFor(
  status: number,
  errors: readonly ApiNote[],
  retryAfter: number | undefined,
  purpose?: Purpose,
): string | undefined {
  if (errors.some((e) => e.code === 7003)) {
    const ifRecorded =
      purpose?.isRecorded === true
        ? " Or the token no longer has access: check which zones and accounts it covers. If the zone or account is gone for good, remove its resources from the state with `pulumi state delete '<URN>'`; `pulumi stack --show-urns` lists the URNs."
        : "";
    return `The zone or account does not exist, or edgeguard:baseUrl is wrong: check both.${ifRecorded}`;
  }
  const asked =
    retryAfter === undefined ? "" : ` Cloudflare asks you to wait ${Math.ceil(retryAfter / 1000)} s.`;
  if (status === 429) {
    return `The rate limit has been reached.${asked} Lower edgeguard:requestsPerSecond, or run again later.`;
  }
  if (status === 413) return tooLarge();
  if (status >= 500)
    return `The problem is on Cloudflare's side. Everything done so far is recorded.${asked} Run the command again.`;
  // `withCredentialAdvice` knows which credential was sent.
  const known = errors.find(({ code }) => code !== undefined && !CREDENTIAL_CODES.includes(code));
  return explainCode(known?.code, status);
}

/** Returns why no complete response arrived. */
export function lostReason(lost: LostResponse, baseUrl: string): string {
  const reason = lost.cause instanceof Error ? lost.cause.message : String(lost.cause);
  const code = lost.errorCode === undefined ? "" : ` (${lost.errorCode})`;
  return lost.cutOff
    ? `it was cut off midway${code}`
    : `${reason === "" ? "no connection" : reason}${code} at ${new URL(baseUrl).origin}`;
}

export function cancelledError(what: string, outcome: Outcome): CancelledError {
  const why = "the operation was cancelled, or the Pulumi engine exited";
  return outcome === "unknown"
    ? new CancelledError(`${what} was interrupted: ${why}. Cloudflare may have applied the change.`, outcome)
    : new CancelledError(`${what} was not sent: ${why}.`, outcome);
}
