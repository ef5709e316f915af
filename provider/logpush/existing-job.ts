import type { Scope } from "../runtime/composite-id";
import { isJsonObject } from "../runtime/values";
import { jobFromApi, type Job } from "./job";
import type { JobArgs } from "./job-args";

/**
 * Converts an existing job to the arguments that declare it, without defaults. The destination is empty if Cloudflare
 * doesn't return it.
 */
export function existingJob(scope: Scope, job: Job): JobArgs {
  const { raw, name, dataset, kind } = job;
  const options = raw["output_options"];
  const fieldNames = isJsonObject(options) ? options["field_names"] : undefined;
  const { filter, destination_conf: destinationConf } = raw;
  const least = {
    ...(scope.kind === "zone" ? { zoneId: scope.id } : { accountId: scope.id }),
    name,
    dataset,
    ...(kind === undefined ? {} : { kind }),
    destinationConf: typeof destinationConf === "string" ? destinationConf : "",
    enabled: raw["enabled"] === true,
    ...(typeof filter === "string" && filter !== "" ? { filter } : {}),
    ...(Array.isArray(fieldNames) ? { outputOptions: { fieldNames: fieldNames as string[] } } : {}),
  } satisfies JobArgs;
  return jobFromApi(least, job, { allFields: undefined, strict: true });
}
