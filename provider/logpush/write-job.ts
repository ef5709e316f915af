import { z } from "zod";
import { createOnce, type Created } from "../runtime/adoption";
import type { Context } from "../runtime/lifecycle";
import type { Bag } from "../runtime/values";
import { sameDestination } from "./destination-text";
import { changedJobRequest, newJobRequest, wireJob, type Job } from "./job";
import {
  named,
  jobAdvice,
  jobsPath,
  listFields,
  listJobs,
  readJob,
  scopeOf,
  wantsProof,
  withFlag,
} from "./job-api";
import { jobNamed, type JobArgs } from "./job-args";
import { pinnedFields } from "./job-live";
import { tokenFinding, unproven } from "./ownership";

/** What creates and changes a job: the two requests, and what to do with their answers. */

/** What "all" stands for: once resolved it stays. */
export async function resolvedFields(
  ctx: Context,
  args: JobArgs,
  inputs: Bag,
  state: Bag = {},
): Promise<readonly string[] | undefined> {
  if (args.outputOptions?.fieldNames !== "all") return undefined;
  const pinned = pinnedFields(args, state) ?? (inputs["allFields"] as readonly string[] | undefined);
  if (pinned !== undefined) return pinned;
  return (await listFields(ctx.api, scopeOf(args), args.dataset)).map(({ name }) => name);
}

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
      (job) =>
        job.name === args.name &&
        job.dataset === args.dataset &&
        job.kind === args.kind &&
        !known.has(job.id) &&
        ctx.holding(job.id) === undefined,
    );
  const send = (): Promise<Job | undefined> =>
    withFlag(ctx, (form) =>
      ctx.api.post(jobsPath(scope), {
        what: `Creating log-push job ${JSON.stringify(args.name)} in ${named(scope)}`,
        schema: perhapsJob,
        body: newJobRequest(args, { allFields, form, token }),
        advice: jobAdvice,
      }),
    );
  try {
    const creation = {
      what: jobNamed(args.name),
      path: jobsPath(scope),
      id: ({ id }: Job) => id,
      send,
      list,
    };
    const { object, doubled } = await createOnce(ctx, creation);
    if ("name" in object.raw) return { object, doubled };
    // It is made: if only its health cannot be read now, its id has to be recorded all the same.
    return { object: await readJob(ctx.api, scope, object.id).catch(() => object), doubled };
  } catch (error) {
    if (token === undefined && wantsProof(error)) throw await unproven(ctx, args, "made");
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
        advice: jobAdvice,
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
