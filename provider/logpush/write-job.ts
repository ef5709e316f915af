import { z } from "zod";
import type { Context } from "../runtime/lifecycle";
import { sameDestination } from "./destination-text";
import { updateRequest, hasSameIdentity, createRequest, wireJob, type Job } from "./job";
import {
  jobsPath,
  listJobs,
  createOptions,
  writeOptions,
  readJob,
  isProofRequired,
  withCveFlag,
} from "./job-api";
import { scopeName, scopeOf } from "../runtime/composite-id";
import { jobLabel, type JobArgs } from "./job-args";
import { proofError } from "./ownership";

/** The requests that create and update a job, and what to do with their responses. */

/** Creates exactly one job, even if the response is lost or empty. */
export async function createJob(
  ctx: Context,
  args: JobArgs,
  before: readonly Job[],
  allFields: readonly string[] | undefined,
): Promise<Job> {
  const scope = scopeOf(args);
  const known = new Set(before.map(({ id }) => id));
  const token = args.ownershipChallenge;
  const list = async (): Promise<readonly Job[]> =>
    (await listJobs(ctx.api, scope, { complete: true })).filter(
      (job) => hasSameIdentity(args, job) && !known.has(job.id) && ctx.holding(job.id) === undefined,
    );
  const send = (): Promise<Job | undefined> =>
    withCveFlag(ctx, (form) =>
      ctx.api.post(jobsPath(scope), {
        what: `Creating Logpush job ${JSON.stringify(args.name)} in ${scopeName(scope)}`,
        schema: optionalJob,
        body: createRequest(args, { allFields, form, token }),
        ...createOptions(scope, before),
      }),
    );
  try {
    const path = jobsPath(scope);
    const id = ({ id }: Job): string => id;
    const job = await ctx.createOnce({ what: jobLabel(args.name), path, id, send, list });
    if ("name" in job.raw) return job;
    // The job exists: its ID must be recorded even if its health can't be read now.
    return await readJob(ctx.api, scope, job.id).catch(() => job);
  } catch (error) {
    if (token === undefined && isProofRequired(error)) throw await proofError(ctx, args, "created");
    throw error;
  }
}

/** The response to a write, which may not include the job. */
const optionalJob = z.unknown().transform((answer) => wireJob.safeParse(answer).data);

/** Updates a job by sending all of it. `before` is the recorded job or, when adopting, the existing one. */
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
    const answered = await withCveFlag(ctx, (form) =>
      ctx.api.put(path, {
        what: `Updating Logpush job ${job.id} of ${scopeName(scope)}`,
        schema: optionalJob,
        body: updateRequest(args, before, job, { allFields, form, token }),
        ...writeOptions,
      }),
    );
    return answered ?? job;
  } catch (error) {
    if (token === undefined && isProofRequired(error)) throw await proofError(ctx, args, "changed");
    throw error;
  }
}

/** Returns the ownership token if destination and token are new. A recorded token was issued for the old destination. */
function tokenFor(
  { ownershipChallenge: token, destinationConf }: JobArgs,
  before: JobArgs,
): string | undefined {
  const isOld =
    token === before.ownershipChallenge || sameDestination(destinationConf, before.destinationConf);
  return isOld ? undefined : token;
}
