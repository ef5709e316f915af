import { jobFromApi, type Job } from "../../logpush/job";
import { listJobs } from "../../logpush/job-api";
import type { JobArgs } from "../../logpush/job-args";
import { isJsonObject, pick, type JsonObject } from "../../runtime/values";
import { TYPES, type Found, type Scope } from "../found";
import type { Reading } from "../reading";
import { destinationCode } from "./destination";
import { filterCode } from "./filter";
import { needsProof } from "../../logpush/destination-text";

/** Logpush jobs of a zone or an account. */
export async function readJobs(reading: Reading, scope: Scope, owner: string): Promise<void> {
  await reading.part(`Logpush jobs of ${owner}`, async () => {
    for (const job of await listJobs(reading.host.api, scope)) {
      const found = await readJob(reading, scope, owner, job);
      if (found !== undefined) reading.found.push(found);
    }
  });
}

async function readJob(reading: Reading, scope: Scope, owner: string, job: Job): Promise<Found | undefined> {
  const resource = TYPES.logpushJob;
  const what = `Logpush job ${job.id} ${JSON.stringify(job.name)} of ${owner}`;
  const shown = job.raw["destination_conf"];
  if (typeof shown !== "string" || shown === "") {
    reading.leave(
      what,
      'Cloudflare does not show where it pushes to. Declare it by hand under its name with adopt: "takeOver"; the update adopts it',
    );
    return undefined;
  }
  const outputs = await reading.outputs(resource, job.id, asDeclared(scope, job, shown));
  if (outputs === undefined) return undefined;
  const hidesFilter = job.raw["filter"] === undefined;
  reading.notes.push(...notesOn(what, shown, hidesFilter));
  return {
    resource,
    id: job.id,
    what,
    labels: [job.name, job.dataset],
    scope,
    outputs,
    claim: `${scope.kind} ${scope.id} ${job.dataset} ${job.name}`,
    ...(hidesFilter
      ? {
          comment:
            "filter: Cloudflare does not show it. If the job has one, put it here first: an update without it removes it.",
        }
      : {}),
    handedOn: ({ destination, ...rest }) =>
      destination === undefined ? rest : { ...rest, destinationConf: destination },
    args: (writing) => ({
      [`${scope.kind}Id`]: writing.scope(scope),
      name: job.name,
      dataset: job.dataset,
      kind: job.kind,
      enabled: outputs["enabled"] === true ? undefined : outputs["enabled"],
      ...destinationCode(shown, writing),
      filter: typeof outputs["filter"] === "string" ? filterCode(outputs["filter"]) : undefined,
      outputOptions: outputs["outputOptions"],
      ...pick(outputs, LIMITS),
    }),
  };
}

function notesOn(what: string, destination: string, hidesFilter: boolean): string[] {
  const notes = [
    needsProof(destination) &&
      `The ownership token of ${what} is not shown, and not needed. A new destination needs one, as ownershipChallenge.`,
    hidesFilter &&
      `Cloudflare does not show the filter of ${what}. If it has one, declare it before you change anything else of the job: an update without it removes it.`,
  ];
  return notes.filter((note) => note !== false);
}

const LIMITS = ["frequency", "maxUploadBytes", "maxUploadIntervalSeconds", "maxUploadRecords"];

/** The declaration that the job is: whatever is at its default is left out. */
function asDeclared(scope: Scope, job: Job, destinationConf: string): JsonObject {
  const { raw, name, dataset, kind } = job;
  const options = raw["output_options"];
  const fieldNames = isJsonObject(options) ? options["field_names"] : undefined;
  const filter = raw["filter"];
  const least = {
    ...(scope.kind === "zone" ? { zoneId: scope.id } : { accountId: scope.id }),
    name,
    dataset,
    ...(kind === undefined ? {} : { kind }),
    destinationConf,
    enabled: raw["enabled"] === true,
    ...(typeof filter === "string" && filter !== "" ? { filter } : {}),
    ...(Array.isArray(fieldNames) ? { outputOptions: { fieldNames: fieldNames as string[] } } : {}),
  } satisfies JobArgs;
  return jobFromApi(least, job, { allFields: undefined, strict: true });
}
