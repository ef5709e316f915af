import type { Context } from "../runtime/lifecycle";
import { LOGPUSH } from "../limits";
import { chooseExisting } from "./adopt-job";
import { listJobs, named, scopeOf } from "./job-api";
import type { JobArgs } from "./job-args";
import { job as jobNamed } from "./job-rules";
import type { Job } from "./job";
import { needsProof } from "./destination-text";

/** Cloudflare limits the number of a zone's jobs: what a preview knows of the room that is left. */

/** The jobs of the zone or account, read once per operation. */
export function jobsOf(ctx: Context, args: JobArgs): Promise<readonly Job[]> {
  const scope = scopeOf(args);
  return ctx.once(`log-push jobs of ${named(scope)}`, () => listJobs(ctx.api, scope));
}

/** Says of a new job that there is no room for it. No failure: the limit of an account can have been raised. */
export function warnOfFullZone(ctx: Context, args: JobArgs, jobs: readonly Job[]): void {
  const full = limitReached(ctx, args, jobs);
  if (full === undefined) return;
  ctx.say.warn(
    `${jobNamed(args.name)}: ${full}: the up cannot create another unless Cloudflare has raised it. Delete a job first, in an update of its own.`,
  );
}

/**
 * Why job `id` has to be deleted before its replacement is created; undefined where there is room for both, or where an
 * existing job becomes the replacement. A create that is certain to fail deletes nothing first.
 *
 * @throws AdoptionError where the create would be refused.
 */
export async function deletedFirst(ctx: Context, args: JobArgs, id: string): Promise<string | undefined> {
  const jobs = await jobsOf(ctx, args);
  if (!jobs.some((job) => job.id === id)) return undefined; // It leaves the zone, or is gone: that makes no room here.
  if (args.ownershipChallenge === undefined && needsProof(args.destinationConf)) return undefined;
  if ((await chooseExisting(ctx, args, jobs, undefined)) !== undefined) return undefined;
  const full = limitReached(ctx, args, jobs);
  if (full === undefined) return undefined;
  newJobs(ctx, args).set(keyOf(args), 0); // It takes the place of the old one.
  return `${jobNamed(args.name)}: ${full}. Job ${id} is deleted before its replacement is created: nothing is pushed in between.`;
}

/** The jobs that the operation creates in the scope: how many more each of them makes. */
function newJobs(ctx: Context, args: JobArgs): Map<string, 0 | 1> {
  return ctx.shared(`new Logpush jobs of ${named(scopeOf(args))}`, () => new Map<string, 0 | 1>());
}

function keyOf({ name, dataset, kind }: JobArgs): string {
  return JSON.stringify([name, dataset, kind]);
}

/** Says that there is no room for this job, beside those that the operation creates before it. It takes the room there is. */
function limitReached(ctx: Context, args: JobArgs, jobs: readonly Job[]): string | undefined {
  if (args.zoneId === undefined) return undefined; // No limit is documented for the jobs of an account.
  const planned = newJobs(ctx, args);
  const own = keyOf(args);
  const more = [...planned].filter(([key, more]) => key !== own && more === 1).length;
  if (jobs.length + more < LOGPUSH.MAX_JOBS_PER_ZONE) {
    planned.set(own, 1);
    return undefined;
  }
  const created = more === 0 ? "" : `, this update creates ${more} more`;
  return `zone ${args.zoneId} has ${jobs.length} Logpush jobs${created}, and the documented limit is ${LOGPUSH.MAX_JOBS_PER_ZONE}`;
}
