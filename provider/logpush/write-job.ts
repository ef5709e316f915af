import { z } from "zod";
import { createOnce, type Created } from "../runtime/adoption";
import type { Context } from "../runtime/lifecycle";
import type { Bag } from "../runtime/values";
import { changedJobRequest, newJobRequest, wireJob, type Job } from "./job";
import {
  jobAdvice,
  jobsPath,
  listFields,
  listJobs,
  named,
  readJob,
  requestChallenge,
  scopeOf,
  wantsProof,
  withFlag,
} from "./job-api";
import type { JobArgs } from "./job-args";
import { pinnedFields } from "./job-live";
import { job as jobNamed } from "./job-rules";
import { checkToken, type TokenFinding } from "./ownership";
import { sameDestination, shownDestination } from "./destination-text";

/** What creates and changes a job: the proof of ownership, the two requests, and what to do with their answers. */

/** What is to be said of the token, if one is given. */
export function tokenFinding(args: JobArgs): TokenFinding {
  const { ownershipChallenge: token, destinationConf: destination } = args;
  return token === undefined
    ? undefined
    : checkToken({ token, scope: scopeOf(args), destination, now: new Date() });
}

/** @throws when the token would be refused. */
export function refuseBadToken(args: JobArgs): void {
  const finding = tokenFinding(args);
  if (finding !== undefined && "reason" in finding) {
    throw new Error(`${jobNamed(args.name)}: ownershipChallenge ${finding.reason}. Nothing was sent.`);
  }
}

/** Has the service write a token, and says where it is: the job itself is left alone. */
export async function unproven(ctx: Context, args: JobArgs, what: "made" | "changed"): Promise<Error> {
  const file = await requestChallenge(ctx.api, scopeOf(args), args.destinationConf);
  return new Error(
    `${jobNamed(args.name)} was not ${what}: ${shownDestination(args.destinationConf)} has to be proven yours. ` +
      `The service has written a token to the file ${JSON.stringify(file)} there. Set its content as ownershipChallenge, ` +
      "a secret, and run `pulumi up` within 7 days.",
  );
}

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
        body: changedJobRequest(args, { ...before }, job, { allFields, form, token }),
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
