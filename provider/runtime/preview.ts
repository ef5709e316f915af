import { MissingCredentialsError } from "../api/client";
import { ApiError, CancelledError } from "../api/errors";
import { AdoptionError } from "./adoption";
import type { Host } from "./host";
import type { Findings } from "./lifecycle";

/** What can be seen in a preview; where nothing can, that is said, and nothing is found. */
export async function look(host: Host, at: () => Promise<Findings>): Promise<Findings> {
  if (!host.settings.liveChecks) return {};
  try {
    return await at();
  } catch (error) {
    if (error instanceof AdoptionError) return { failures: [{ property: "adopt", reason: error.message }] };
    const reason = noVerdict(error);
    if (reason === undefined) throw error;
    host.warnOnce(`not checked live: ${reason}`, "not checked live");
    return {};
  }
}

/** Why a live check could not be made, or undefined when the error is something else: a defect, a cancellation. */
function noVerdict(error: unknown): string | undefined {
  if (error instanceof CancelledError) return undefined;
  if (error instanceof MissingCredentialsError)
    return "no credentials are set. An up, refresh or destroy needs them";
  if (!(error instanceof ApiError)) return undefined;
  return error.message.replace(/\.$/, ""); // Whatever a read was answered says nothing of the declaration.
}
