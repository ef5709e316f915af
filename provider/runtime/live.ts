import { isUnauthenticated, lackedRight, MissingCredentialsError } from "../api/credential";
import { ApiError, CancelledError, isUnroutable } from "../api/errors";
import { AdoptionError } from "./adoption";
import type { Host } from "./host";
import type { Context, Findings } from "./lifecycle";

/** What a look at the API means to a preview: it finds something, it proves that the update would fail, or it says nothing. */

/** Looks on behalf of a preview. Where nothing can be seen, that is said, and nothing is found. */
export async function liveCheck<T extends object>(
  host: Host,
  at: () => Promise<T>,
): Promise<T | Pick<Findings, "failures">> {
  if (!host.settings.liveChecks) return {};
  try {
    return await at();
  } catch (error) {
    if (error instanceof AdoptionError) return { failures: [{ property: "adopt", reason: error.message }] };
    if (isVerdict(error)) return { failures: [{ property: "", reason: error.message }] };
    const reason = noVerdict(error);
    if (reason === undefined) throw error;
    host.warnOnce(`not checked live: ${reason}`, "not checked live");
    return {};
  }
}

/** Reads what only informs a reviewer. That the token or the plan lacks the right to it is said, and fails nothing. */
export async function unlessForbidden<T>(ctx: Context, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isVerdict(error)) throw error;
    ctx.warnOnce(`not checked: ${withoutStop(missing(error))}`);
    return undefined;
  }
}

/** What is missing for a read that only informs: the permission, where that is all that Cloudflare says. */
function missing(error: ApiError): string {
  const right = lackedRight(error);
  return right === undefined ? error.message : `${error.init.what} needs the permission ${right}`;
}

/** What Cloudflare says of a token, a right or an object holds for the update, too. A proxy's page proves nothing. */
const VERDICTS: readonly (number | undefined)[] = [401, 403, 404];

function isVerdict(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.init.foreign === true) return false;
  // A malformed token, and an ID that no zone has, may be answered with 400: their codes say so.
  const isNamed = error.status === 400 && (isUnauthenticated(error) || isUnroutable(error));
  return isNamed || VERDICTS.includes(error.status);
}

/** Why a live check could not be made, or undefined when the error is something else: a defect, a cancellation. */
function noVerdict(error: unknown): string | undefined {
  if (error instanceof CancelledError) return undefined;
  if (error instanceof MissingCredentialsError)
    return `${error.reason.replace(/^none/, "no credentials")}. An up, refresh or destroy needs credentials`;
  return error instanceof ApiError ? withoutStop(error.message) : undefined;
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}
