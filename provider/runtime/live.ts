import { AdoptionError } from "./adoption";
import type { Host } from "./host";
import type { Findings, LiveChecks } from "./lifecycle";
import { provesFailure, skipReason } from "./skipping";

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
