import { adopt, RENAME_HINT } from "../runtime/adoption";
import { changesInWords, changesOf } from "../runtime/changes";
import { scopeName, scopeOf } from "../runtime/composite-id";
import type { Adopt } from "../runtime/fields";
import type { Context, Findings } from "../runtime/lifecycle";
import { omit, ownMember, sameJson, type JsonObject } from "../basics/json";
import { hidesCredentials, samePlace, shownDestination } from "./destination-text";
import { jobLabel, type JobArgs } from "./job-args";
import { hasSameIdentity, jobFromApi, type Job } from "./job";

/**
 * Returns the existing job that a create should adopt. Undefined if the create should make a new one.
 *
 * @throws AdoptionError with the IDs of the matching jobs.
 */
export async function findJobToAdopt(
  ctx: Context,
  args: JobArgs,
  jobs: readonly Job[],
  allFields: readonly string[] | undefined,
): Promise<Job | undefined> {
  return await adoptByName(ctx, {
    adopt: args.adopt,
    alike: jobs.filter((job) => hasSameIdentity(args, job) && ctx.isUnclaimed(job.id)),
    noun: "job",
    object: `Logpush job ${JSON.stringify(args.name)} for dataset ${args.dataset} in ${scopeName(scopeOf(args))}`,
    isEqual: (job) => isAsDeclared(args, job, allFields),
    found: (job) => shownJob(args, job, allFields),
    declared: shownArgs(args),
  });
}

interface NamedObject<T> {
  readonly adopt: Adopt | undefined;
  /** Existing objects with the declared name. */
  readonly alike: readonly T[];
  /** What the object is, such as `job`, and how messages refer to this one. */
  readonly noun: string;
  readonly object: string;
  readonly isEqual: (object: T) => boolean;
  /** The existing object's arguments, and the declared ones, without secrets. */
  readonly found: (object: T) => JsonObject;
  readonly declared: JsonObject;
}

/** Chooses the object to adopt among those with the declared name. A second one isn't created. */
export async function adoptByName<T extends { readonly id: string }>(
  ctx: Context,
  { adopt: mode, alike, noun, object, isEqual, found, declared }: NamedObject<T>,
): Promise<T | undefined> {
  const ids = alike.map(({ id }) => id).join(", ");
  return await adopt({
    adopt: mode,
    alike,
    equal: () => alike.filter(isEqual),
    refusals: {
      several: () =>
        `More than one ${object} could be adopted: ${ids}. Delete all but one, or choose another name. ${RENAME_HINT}`,
      never: () =>
        `A ${object} already exists (${ids}), and adopt: "never" prevents adopting it. ${RENAME_HINT} Otherwise choose another name, or delete the ${noun}.`,
      different: (each) =>
        `A ${object} already exists (${ids}) but differs in ${changesInWords(changesOf(found(each), declared, ctx))}. ` +
        `If the ${noun} is left over from an interrupted \`pulumi up\`, set adopt: "takeOver" to continue. ${RENAME_HINT} Otherwise choose another name, or delete the ${noun}.`,
    },
  });
}

function isAsDeclared(args: JobArgs, job: Job, allFields: readonly string[] | undefined): boolean {
  return sameJson(jobFromApi(args, job, { allFields, strict: true }), args);
}

/** Describes the adoption for the preview. Empty if this program already owns the job, as in a replacement. */
export function adoptionOf(
  ctx: Context,
  args: JobArgs,
  job: Job,
  allFields: readonly string[] | undefined,
): Pick<Findings, "adopts"> {
  if (ctx.holding(job.id) !== undefined) return {};
  const adopts = {
    what: jobLabel(args.name),
    object: `job ${job.id} of ${scopeName(scopeOf(args))}`,
    found: shownJob(args, job, allFields),
    onDestroy: "deletes it",
    more: "The update writes the job once, because the API might not return all of its settings.",
  };
  return { adopts };
}

/** Converts the existing job to arguments for messages: without secrets, and as far as the API returns them. */
function shownJob(args: JobArgs, job: Job, allFields: readonly string[] | undefined): JsonObject {
  const exists = jobFromApi(args, job, { allFields, strict: true });
  const names = Object.keys({ ...args, ...exists }).filter((name) => !SECRETS.includes(name));
  const { destination } = job;
  const isSamePlace = samePlace(destination, args.destinationConf);
  const found = isSamePlace ? exists.destinationConf : destination;
  const [shown, declared] = [found, args.destinationConf].map(shownDestination);
  const isElsewhere = found !== args.destinationConf;
  // Cloudflare may mask a credential that names the recipient.
  const perhaps = hidesCredentials(destination) ? "perhaps " : "";
  const how = isSamePlace ? "with different credentials" : `${perhaps}with another credential or tenant`;
  const differs =
    destination === "" ? "not returned" : isElsewhere && shown === declared ? `${shown}, ${how}` : shown;
  // A declared property that the job lacks is a change as well, so its name must be included.
  const members = Object.fromEntries(names.map((name) => [name, ownMember(exists, name)]));
  const isFilterShown = args.filter === undefined || job.filter !== undefined;
  return { ...members, destinationShown: differs, ...(isFilterShown ? {} : { filter: "not returned" }) };
}

/** Returns the declared arguments without secrets, for comparison with the existing job's. */
function shownArgs(args: JobArgs): JsonObject {
  return { ...omit({ ...args }, SECRETS), destinationShown: shownDestination(args.destinationConf) };
}

export const SECRETS = ["destinationConf", "ownershipChallenge"];
