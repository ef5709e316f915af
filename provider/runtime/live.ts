import { isUnauthenticated, missingPermission, MissingCredentialsError } from "../api/credential";
import { ApiError, CancelledError, isUnroutable } from "../api/errors";
import { AdoptionError } from "./adoption";
import type { Host } from "./host";
import type { Context, Findings, LiveChecks } from "./lifecycle";

/**
 * Live checks read from the API in a preview. If a read fails, either that proves that the update would also fail, or
 * the check is skipped.
 */

/** Runs a live check. If it can't run, returns why. */
async function liveCheck<T extends object>(
  host: Host,
  at: () => Promise<T>,
): Promise<T | (Pick<Findings, "failures"> & { readonly skipped?: string })> {
  if (!host.settings.liveChecks) return { skipped: "edgeguard:liveChecks is false" };
  try {
    return await at();
  } catch (error) {
    if (error instanceof AdoptionError) return { failures: [{ property: "adopt", reason: error.message }] };
    if (provesFailure(error)) return { failures: [{ property: "", reason: error.message }] };
    const reason = skipReason(error);
    if (reason === undefined) throw error;
    host.say.warn(`live checks skipped: ${reason}`, "live checks skipped");
    return { skipped: host.redact(reason) };
  }
}

/** Runs a type's live checks until one fails. */
export async function* liveFindings(
  host: Host,
  checks: () => Promise<LiveChecks>,
): AsyncGenerator<Findings & { readonly skipped?: string }, void, undefined> {
  const all = await liveCheck(host, async () => ({ each: await checks() }));
  if (!("each" in all)) yield all;
  else if (!isList(all.each)) yield all.each;
  else
    for (const each of all.each) {
      const found: Findings & { readonly skipped?: string } = await liveCheck(host, each);
      yield found;
      if ((found.failures ?? []).length > 0) return;
    }
}

const isList = (checks: LiveChecks): checks is Exclude<LiveChecks, Findings> => Array.isArray(checks);

/**
 * Reads data that's only for the reviewer's information. If a permission or plan is missing, that's a warning, not a
 * failure.
 */
export async function unlessForbidden<T>(ctx: Context, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!provesFailure(error)) throw error;
    ctx.skip(withoutPeriod(skippedRead(error)));
    return undefined;
  }
}

/**
 * Returns why a read was skipped: the permission that the read needs, or Cloudflare's message if that gives another
 * reason.
 */
function skippedRead(error: ApiError): string {
  const permission = missingPermission(error);
  return permission === undefined ? error.message : `${error.init.what} needs ${permission}`;
}

/**
 * Statuses that prove that the update would fail as well, because they're about the token, a permission or the object.
 * A proxy's error page proves nothing.
 */
const PROVING_STATUSES: readonly (number | undefined)[] = [401, 403, 404];

function provesFailure(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.init.foreign === true) return false;
  // Cloudflare may return 400 for a malformed token or an ID that no zone has; the error code says which.
  const isNamed = error.status === 400 && (isUnauthenticated(error) || isUnroutable(error));
  return isNamed || PROVING_STATUSES.includes(error.status);
}

/** Returns why a live check couldn't be made. Undefined for other errors, such as a bug or a cancellation. */
function skipReason(error: unknown): string | undefined {
  if (error instanceof CancelledError) return undefined;
  if (error instanceof MissingCredentialsError)
    return `${error.reason.replace(/^none/, "no credentials")}. pulumi up, refresh and destroy need credentials`;
  return error instanceof ApiError ? withoutPeriod(error.message) : undefined;
}

function withoutPeriod(sentence: string): string {
  return sentence.replace(/\.$/, "");
}
