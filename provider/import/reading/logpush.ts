import { existingJob, SIMPLE_MEMBERS, type Job } from "../../logpush/job";
import { listJobs } from "../../logpush/job-api";
import { listTransformers } from "../../logpush/logpush-transformer";
import { applying } from "../../basics/words";
import type { Scope } from "../../runtime/composite-id";
import { omitAbsent, pick, type JsonObject } from "../../basics/json";
import { TYPES, type ExistingObject } from "../existing";
import type { Inventory } from "../inventory";
import type { Account } from "../zones";
import { destinationCode } from "./destination";
import { filterCode } from "./filter";
import { maskedDestination, needsProof } from "../../logpush/destination-text";

/** Reads the Logpush jobs of a zone or account. */
export async function readJobs(inventory: Inventory, scope: Scope, owner: string): Promise<void> {
  await inventory.part(`Logpush jobs of ${owner}`, async () => {
    for (const job of await listJobs(inventory.host.api, scope)) {
      if (!inventory.wants(TYPES.logpushJob, scope, job.id)) continue;
      const found = await readJob(inventory, scope, owner, job);
      if (found !== undefined) inventory.found.push(found);
    }
  });
}

async function readJob(
  inventory: Inventory,
  scope: Scope,
  owner: string,
  job: Job,
): Promise<ExistingObject | undefined> {
  const resource = TYPES.logpushJob;
  const what = `Logpush job ${job.id} ${JSON.stringify(job.name)} of ${owner}`;
  const { destination: shown } = job;
  if (shown === "") {
    inventory.leaveOut(
      what,
      'Cloudflare doesn\'t show the destination. Declare the job manually with the same name and adopt: "takeOver", and the next update adopts it',
    );
    return undefined;
  }
  const read = await inventory.outputs(resource, job.id, { ...existingJob(scope, job) });
  if (read === undefined) return undefined;
  const destinationConf = inventory.selection && maskedDestination(shown);
  if (inventory.selection !== undefined && destinationConf === undefined) {
    inventory.leaveOut(what, UNCLEAR_SECRETS);
    return undefined;
  }
  const recordedAs = omitAbsent({ destinationConf });
  const outputs: JsonObject = { ...read, ...recordedAs };
  const hidesFilter = job.filter === undefined;
  const transformer = inventory.found.find(
    (each) => each.resource === TYPES.logpushTransformer && each.id === String(outputs["transformerId"]),
  );
  inventory.notes.push(...notesOn(what, shown, hidesFilter));
  return {
    resource,
    id: job.id,
    what,
    labels: [job.name, job.dataset],
    scope,
    outputs,
    recordedAs,
    identity: `${scope.kind} ${scope.id} ${job.dataset} ${job.name}`,
    ...(hidesFilter
      ? {
          comment:
            "Cloudflare doesn't show the job's filter. If there is one, add it here first, because an update without it removes the filter.",
        }
      : {}),
    classInputs: ({ destination, ...rest }) =>
      destination === undefined ? rest : { ...rest, destinationConf: destination },
    args: (writing) => ({
      [`${scope.kind}Id`]: writing.scope(scope),
      name: job.name,
      dataset: job.dataset,
      kind: job.kind,
      enabled: outputs["enabled"] === true ? undefined : outputs["enabled"],
      ...destinationCode(shown, writing),
      filter:
        typeof outputs["filter"] === "string"
          ? filterCode(outputs["filter"], writing.hasBuilders)
          : undefined,
      outputOptions: outputs["outputOptions"],
      ...pick(outputs, SIMPLE_MEMBERS),
      // A reference, so that the transformer is deleted after the job.
      ...omitAbsent({ transformerId: transformer && writing.idOf(transformer) }),
    }),
  };
}

const UNCLEAR_SECRETS =
  "it isn't clear which parts of its destination are secret. Import it with --zone or --account instead of --from";

/** Reads the Logpush transformers of an account. The program contains their code. */
export async function readTransformers(inventory: Inventory, { id, what: owner }: Account): Promise<void> {
  const resource = TYPES.logpushTransformer;
  const scope = { kind: "account", id } as const;
  await inventory.part(`Logpush transformers of ${owner}`, async () => {
    for (const each of await listTransformers(inventory.host, id)) {
      const outputs = await inventory.outputs(resource, each.id, { accountId: id, codeDigest: "" });
      if (outputs === undefined) continue;
      inventory.found.push({
        resource,
        id: each.id,
        what: `Logpush transformer ${each.id} ${JSON.stringify(each.name)} of ${owner}`,
        labels: [each.name],
        scope,
        outputs,
        identity: `${id} ${each.name}`,
        args: (writing) => ({
          accountId: writing.scope(scope),
          ...pick(outputs, ["name", "description", "code"]),
        }),
      });
    }
  });
}

function notesOn(what: string, destination: string, hidesFilter: boolean): string[] {
  return applying(
    needsProof(destination) &&
      `Cloudflare doesn't show the ownership token of ${what}. Set ownershipChallenge only if you change the destination.`,
    hidesFilter &&
      `Cloudflare doesn't show the filter of ${what}. If the job has a filter, declare it before you change anything else, because an update without it removes the filter.`,
  );
}
