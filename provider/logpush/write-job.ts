import { z } from "zod";
import type { Context } from "../runtime/lifecycle";
import { sameDestination } from "./destination-text";
import { changedJobRequest, isNamedLike, newJobRequest, wireJob, type Job } from "./job";
import { jobsPath, listJobs, manner, named, readJob, scopeOf, wantsProof, withFlag } from "./job-api";
import { jobNamed, type JobArgs } from "./job-args";
import { tokenFinding, unproven } from "./ownership";
import { createOnce, type Created } from "../runtime/creation";

/** What creates and changes a job: the two requests, and what to do with their answers. */

/** Makes the job once, although an answer may get lost or hold nothing. */
export async function makeJob(
  ctx: Context,
  args: JobArgs,
  before: readonly Job[],
  allFields: readonly string[] | undefined,
): Promise<Created<Job>> {
  const scope = scopeOf(args);
  const known = new Set(before.map(({ id }) => id));
  const token = args.ownershipChallenge;
  const list = async (): Promise<readonly Job[]> =>
    (await listJobs(ctx.api, scope, { complete: true })).filter(
      (job) => isNamedLike(args, job) && !known.has(job.id) && ctx.holding(job.id) === undefined,
    );
  const send = (): Promise<Job | undefined> =>
    withFlag(ctx, (form) =>
      ctx.api.post(jobsPath(scope), {
        what: `Creating log-push job ${JSON.stringify(args.name)} in ${named(scope)}`,
        schema: perhapsJob,
        body: newJobRequest(args, { allFields, form, token }),
        ...manner,
      }),
    );
  try {
    const path = jobsPath(scope);
    const id = ({ id }: Job): string => id;
    const { object, doubled } = await createOnce(ctx, { what: jobNamed(args.name), path, id, send, list });
    if ("name" in object.raw) return { object, doubled };
    // It is made: if only its health cannot be read now, its id has to be recorded all the same.
    return { object: await readJob(ctx.api, scope, object.id).catch(() => object), doubled };
  } catch (error) {
    if (token === undefined && wantsProof(error)) throw await unproven(ctx, args, "created");
    throw error;
  }
}

/** The answer to a create, which may hold the job or not (seed 002: "not shown"). */
const perhapsJob = z.unknown().transform((answer) => wireJob.safeParse(answer).data);

/** Sends the whole job. `before` is what is recorded of it, or what it was found to be. */
export async function writeJob(
  ctx: Context,
  args: JobArgs,
  job: Job,
  before: JobArgs,
  allFields: readonly string[] | undefined,
): Promise<Job> {
  const scope = scopeOf(args);
  const token = tokenFor(args, before);
  const path = `${jobsPath(scope)}/${job.id}`;
  try {
    const answered = await withFlag(ctx, (form) =>
      ctx.api.put(path, {
        what: `Updating log-push job ${job.id} of ${named(scope)}`,
        schema: perhapsJob,
        body: changedJobRequest(args, before, job, { allFields, form, token }),
        ...manner,
      }),
    );
    return answered ?? job;
  } catch (error) {
    if (token === undefined && wantsProof(error)) throw await unproven(ctx, args, "changed");
    throw error;
  }
}

/** The token goes with a destination that is new to the job, and that it was made for. */
function tokenFor(args: JobArgs, before: JobArgs): string | undefined {
  if (sameDestination(args.destinationConf, before.destinationConf)) return undefined;
  const finding = tokenFinding(args);
  return finding !== undefined && "reason" in finding ? undefined : args.ownershipChallenge;
}
