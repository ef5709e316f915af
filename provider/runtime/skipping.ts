import { isUnauthenticated, missingPermission, MissingCredentialsError } from "../api/credential";
import { ApiError, CancelledError, isUnroutable } from "../api/errors";

/** Decides what a failed read proves: that the update would also fail, or only that a check was skipped. */

/**
 * Returns why a read was skipped: the permission that the read needs, or Cloudflare's message if that gives another
 * reason.
 */
export function skippedRead(error: ApiError): string {
  const permission = missingPermission(error);
  return withoutPeriod(permission === undefined ? error.message : `${error.init.what} needs ${permission}`);
}

/**
 * Statuses that prove that the update would fail as well, because they're about the token, a permission or the object.
 * A proxy's error page proves nothing.
 */
const PROVING_STATUSES: readonly (number | undefined)[] = [401, 403, 404];

export function provesFailure(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.init.foreign === true) return false;
  // Cloudflare may return 400 for a malformed token or an ID that no zone has; the error code says which.
  const isNamed = error.status === 400 && (isUnauthenticated(error) || isUnroutable(error));
  return isNamed || PROVING_STATUSES.includes(error.status);
}

/** Returns why a live check couldn't be made. Undefined for other errors, such as a bug or a cancellation. */
export function skipReason(error: unknown): string | undefined {
  if (error instanceof CancelledError) return undefined;
  if (error instanceof MissingCredentialsError)
    return `${error.reason.replace(/^none/, "no credentials")}. pulumi up, refresh and destroy need credentials`;
  return error instanceof ApiError ? withoutPeriod(error.message) : undefined;
}

function withoutPeriod(sentence: string): string {
  return sentence.replace(/\.$/, "");
}
