import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { adoptionOf, findJobToAdopt } from "./adopt-job";
import type { Dataset } from "./dataset-fields";
import type { Destination } from "./destination";
import {
  hideDestination,
  hidesCredentials,
  isShownAs,
  sameDestination,
  samePlace,
  shownDestination,
} from "./destination-text";
import type { Filter } from "./filter";
import { filterMeaning } from "./filter-text";
import { differs, healthOf, jobFromApi, type Job } from "./job";
import { jobsPath, listJobs, scopeName, readJob, scopeOf } from "./job-api";
import { jobArgs, jobLabel, jobRules, type JobArgs } from "./job-args";
import {
  deleteFirstReason,
  isNewDestination,
  isDestinationMoved,
  checkJobLive,
  resolvedFields,
} from "./job-live";
import type { OutputOptionsArgs } from "./output-options";
import { lacksProof, assertTokenUsable, tokenFinding, proofError } from "./ownership";
import { createJob, writeJob } from "./write-job";
import type { Adopt, LiteralUnion } from "../runtime/fields";
import type { Adopted } from "../runtime/adopted";
import { defineLifecycle, PartialFailure, type Context, type Review } from "../runtime/lifecycle";
import { LOCK } from "../runtime/locks";
import { refusal } from "../runtime/program";
import { claimOnce, edgeResource } from "../runtime/resource";
import { redactStrings, stringsIn } from "../runtime/secrets";
import { pick } from "../runtime/values";

const computed = z.object({
  lastComplete: z.string().exactOptional(),
  lastError: z.string().exactOptional(),
  errorMessage: z.string().exactOptional(),
  destinationShown: z.string().exactOptional(),
  allFields: z.array(z.string()).exactOptional(),
});
type Computed = z.output<typeof computed>;

export const logpushJob = defineLifecycle({
  type: "LogpushJob",
  schemaVersion: 1,
  upgrades: {},
  args: jobArgs,
  computed,
  computedInputs: ["destinationShown", "destinationMoved", "allFields"],
  // A token is used up by the change it was made for.
  compared: { ignore: ["ownershipChallenge"], also: [] },
  equal: {
    filter: (before, after) => filterMeaning(before) === filterMeaning(after),
    // A refresh or an import may have recorded what the service shows, credentials hidden.
    destinationConf: (before, after) =>
      typeof before === "string" && typeof after === "string" && isShownAs(after, before),
  },
  replaceOn: ["zoneId", "accountId", "dataset", "kind"],
  secret: {
    destinationConf: (redactor, given) =>
      typeof given === "string" ? hideDestination(redactor, given) : redactStrings(redactor, given),
    ownershipChallenge: (redactor, given) => redactor.add(...stringsIn(given)),
  },
  lock: (args) => LOCK.logpush(scopeName(scopeOf(args))),
  rules: jobRules,

  derive({ ctx, args, olds }) {
    const finding = isNewDestination(args, olds) ? tokenFinding(args) : undefined;
    if (finding !== undefined && "warning" in finding) {
      ctx.say.warn(`${jobLabel(args.name)}: ownershipChallenge ${finding.warning}.`);
    }
    const due = credentialChange(ctx, args, olds["destinationConf"]);
    return Promise.resolve({
      computed: {
        destinationShown: shownDestination(args.destinationConf),
        // A reviewer sees neither of two destinations.
        ...(isDestinationMoved(args, olds) ? { destinationMoved: true } : {}),
      },
      ...(due === undefined ? {} : { pendingWork: due }),
      ...(finding !== undefined && "reason" in finding
        ? { failures: [{ property: "ownershipChallenge", reason: finding.reason }] }
        : {}),
    });
  },

  // What "all" stands for may have grown, also where nothing was changed here.
  liveAlways: ({ outputOptions }) => outputOptions?.fieldNames === "all",

  live: checkJobLive,

  review({ ctx, id, args, change }) {
    if (args === undefined || change !== "replacement") return Promise.resolve([]);
    const room = async (): Promise<Review> => {
      const deleteFirst = await deleteFirstReason(ctx, args, id);
      return deleteFirst === undefined ? {} : { deleteFirst };
    };
    return Promise.resolve([room]);
  },

  async create({ ctx, args, inputs }) {
    assertTokenUsable(args);
    const scope = scopeOf(args);
    const jobs = await listJobs(ctx.api, scope, { complete: true });
    const allFields = await resolvedFields(ctx, args, inputs);
    const adopted = await findJobToAdopt(ctx, args, jobs, allFields);
    if (adopted !== undefined) {
      // What it was before is not known: all that is undeclared goes to its default.
      const before = jobFromApi(args, adopted, { allFields, strict: true });
      return {
        id: adopted.id,
        computed: computedOutputs(
          ctx,
          args,
          await writeJob(ctx, args, adopted, before, allFields),
          allFields,
        ),
        ...adoptionOf(ctx, args, adopted, allFields),
      };
    }
    if (lacksProof(args)) throw await proofError(ctx, args, "created");
    const { object: made, doubled } = await createJob(ctx, args, jobs, allFields);
    const computed = computedOutputs(ctx, args, made, allFields);
    if (doubled !== undefined) throw new PartialFailure(made.id, computed, doubled);
    return { id: made.id, computed };
  },

  async read({ ctx, id, state }) {
    const job = await readJob(ctx.api, scopeOf(state), id);
    const declared = pick(state, Object.keys(jobArgs.shape)) as JobArgs; // The part of the state that it is.
    const found = jobFromApi(declared, job, { allFields: state.allFields });
    warnIfFailing(ctx, found, job);
    const { ownershipChallenge } = state; // No answer holds it.
    return {
      ...found,
      ...(ownershipChallenge === undefined ? {} : { ownershipChallenge }),
      ...computedOutputs(ctx, found, job, state.allFields),
    };
  },

  async update({ ctx, id, state, args, inputs }) {
    const allFields = await resolvedFields(ctx, args, inputs, state);
    const job = await readJob(ctx.api, scopeOf(args), id);
    if (!differs(args, state, job, allFields)) return computedOutputs(ctx, args, job, allFields);
    if (!samePlace(args.destinationConf, state.destinationConf)) {
      assertTokenUsable(args);
      if (lacksProof(args)) throw await proofError(ctx, args, "changed");
    }
    return computedOutputs(ctx, args, await writeJob(ctx, args, job, state, allFields), allFields);
  },

  async delete({ ctx, id, state }) {
    const scope = scopeOf(state);
    await ctx.api.delete(`${jobsPath(scope)}/${id}`, {
      what: `Deleting log-push job ${id} of ${scopeName(scope)}`,
      schema: z.unknown(),
    });
  },
});

export interface LogpushJobArgs {
  /** The zone whose lines are pushed, 32 hexadecimal digits. Exactly one of `zoneId` and `accountId`. Replaces. */
  readonly zoneId?: pulumi.Input<string>;
  /** The account whose lines are pushed, for datasets that belong to no zone. No setting gives it. Replaces. */
  readonly accountId?: pulumi.Input<string>;
  /**
   * Name of the job, 1 to 512 characters; with zone or account and dataset it tells the job from others. Default
   * `<project>-<stack>-<name>` of the program, in which what is no letter, digit, `.` or `-` becomes `-`. In place.
   * Source: seed 002, "Log-push job".
   */
  readonly name?: pulumi.Input<string>;
  /** Which log lines: `http_requests`, `firewall_events`, …. Replaces. Source: seed 002, "Log-push job". */
  readonly dataset: pulumi.Input<LiteralUnion<Dataset>>;
  /**
   * Where to push to, made by a builder: `destination.s3({ bucket: "logs", region: "us-east-1" })`. Exactly one of
   * `destination` and `destinationConf`. Secret. Updates in place. With `ignoreChanges: ["destination"]`, another destination
   * is no change: nothing is sent.
   */
  readonly destination?: pulumi.Input<Destination>;
  /**
   * Where to push to, as the API's text: `s3://logs/http/{DATE}?region=us-east-1`, at most 4,096 characters. Secret.
   * In place; a change of the order of its parameters is no change. Source: seed 002, "Log-push job".
   */
  readonly destinationConf?: pulumi.Input<string>;
  /**
   * What is written of each line, and how. Sent as a whole: a member that is left out is at its default. Default: the
   * service's. In place. Source: seed 002, "Log-push job".
   */
  readonly outputOptions?: pulumi.Input<OutputOptionsArgs>;
  /**
   * Which lines are pushed: made by the builders of `filter`, or JSON as a text. Compared by its meaning: the order of
   * a group's conditions, of a list's elements and of members, and white space are no change. At most 30 operators
   * (comparisons and groups) and 1,000 bytes. Default: all lines. In place. Source: seed 002, "Filter".
   */
  readonly filter?: pulumi.Input<Filter | string>;
  /**
   * What to do where a filter is larger than documented ("about 30 operators and 1000 bytes"), or does not fit what is
   * documented of its fields: `"error"` refuses it, `"warn"` says so and sends it. Default `"error"`. In place, without
   * a write.
   */
  readonly filterChecks?: pulumi.Input<LiteralUnion<"error" | "warn">>;
  /** Whether the job pushes. Default true, always sent: the API's own default is off. In place. Source: OpenAPI. */
  readonly enabled?: pulumi.Input<boolean>;
  /** How often files are made; deprecated by the service for the limits below. Default `"high"`. In place. Source: OpenAPI. */
  readonly frequency?: pulumi.Input<LiteralUnion<"high" | "low">>;
  /** Most bytes of a file before compression: 5,000,000 to 1,000,000,000, or 0 for no limit. Default: the service's. In place. */
  readonly maxUploadBytes?: pulumi.Input<number>;
  /** Most seconds between files: 30 to 300, or 0 for no limit. Default: the service's. In place. */
  readonly maxUploadIntervalSeconds?: pulumi.Input<number>;
  /** Most lines of a file: 1,000 to 1,000,000, or 0 for no limit. Default: the service's. In place. */
  readonly maxUploadRecords?: pulumi.Input<number>;
  /** `"edge"`: delivered by the edge itself, for `http_requests` only. Default `""`. Replaces. Source: OpenAPI. */
  readonly kind?: pulumi.Input<LiteralUnion<"" | "edge">>;
  /**
   * The token that proves the destination to be yours, where it has to be: S3 without keys, Google Cloud Storage, Azure,
   * Sumo Logic. Without one an update has Cloudflare write it to the destination, creates no job, and names the file. Good
   * for 7 days. Secret. Write-only: it is sent with a create and a changed destination; a change of it alone is none.
   */
  readonly ownershipChallenge?: pulumi.Input<string>;
  /**
   * What to do when there is a job of this name, dataset and zone or account. `"ifEqual"`: take over one that is equal
   * in all that the API shows, and write it once. `"never"`: refuse. `"takeOver"`: change what differs. Default
   * `"ifEqual"`. In place, without a write.
   */
  readonly adopt?: pulumi.Input<LiteralUnion<Adopt>>;
  /** Members of the API's job that this version does not know by name, sent as they are. In place. */
  readonly extra?: pulumi.Input<Record<string, unknown>>;
}

/**
 * A job that pushes log lines of a zone or an account to a destination (seed 002, "Log-push job"). The resource's id is
 * the job's number. A refresh warns of a job that is failing.
 *
 * Token permissions: Logs Write, for a preview as well. Of the zone or the account, as the job is; a Zero Trust dataset
 * also needs Zero Trust: PII Read.
 *
 * @throws in the preview for a filter, field, destination or token that is wrong; in an up when a proof of ownership is
 * needed, the quota is used up, or an existing job may not be taken over.
 */
export class LogpushJob extends edgeResource<LogpushJobArgs>()(logpushJob) {
  /** Secret. */
  declare readonly destinationConf: pulumi.Output<string>;
  /** The destination without what may be a credential: `s3://bucket/path`, `https://host`. */
  declare readonly destinationShown: pulumi.Output<string>;
  /** The filter as it is sent; undefined where all lines are pushed. */
  declare readonly filter: pulumi.Output<string | undefined>;
  /** For `fieldNames: "all"`: the fields it stands for. */
  declare readonly allFields: pulumi.Output<readonly string[] | undefined>;
  /** Up to when lines have been pushed, as last read. */
  declare readonly lastComplete: pulumi.Output<string | undefined>;
  /** When a push last failed, as last read; undefined after one that did not. */
  declare readonly lastError: pulumi.Output<string | undefined>;
  declare readonly errorMessage: pulumi.Output<string | undefined>;
  /** The job that existed and was adopted when the resource was created, with what that changed. */
  declare readonly adopted: pulumi.Output<Adopted | undefined>;

  constructor(name: string, args: LogpushJobArgs, opts?: pulumi.CustomResourceOptions) {
    const { destination, destinationConf, ownershipChallenge, name: given, ...rest } = args;
    if (destination !== undefined && destinationConf !== undefined) {
      throw refusal(
        `edgeguard: LogpushJob "${name}": exactly one of destination and destinationConf says where to push to; both are set.`,
      );
    }
    const jobName = given ?? defaultName(name);
    const { zoneId, accountId, dataset } = args;
    const claim = claimOnce("LogpushJob", name, { zoneId, accountId, dataset, name: jobName }, (known) => {
      const owner = (known.zoneId ?? known.accountId)?.toLowerCase() ?? "nobody";
      return [
        {
          key: JSON.stringify([owner, known.dataset, known.name]),
          clash: `are both the log-push job ${JSON.stringify(known.name)} of dataset ${known.dataset} in ${owner}: name them differently`,
        },
      ];
    });
    const where = destination ?? destinationConf;
    super(
      name,
      {
        ...rest,
        name: jobName,
        ...(where === undefined ? {} : { destinationConf: pulumi.secret(where) }),
        ...(ownershipChallenge === undefined
          ? {}
          : { ownershipChallenge: pulumi.secret(ownershipChallenge) }),
      },
      renameIgnoredChanges(opts),
      claim,
    );
  }
}

/** The engine knows a destination as destinationConf, however it was declared. */
function renameIgnoredChanges(opts: pulumi.CustomResourceOptions | undefined): pulumi.CustomResourceOptions {
  const { ignoreChanges, ...others } = opts ?? {};
  if (ignoreChanges === undefined) return others;
  const sent = (path: string): string => (/^destination(?!\w)/.test(path) ? "destinationConf" : path);
  return { ...others, ignoreChanges: ignoreChanges.map(sent) };
}

/** Told from the jobs of other programs and stacks, in the characters that every version of the service takes. */
function defaultName(name: string): string {
  return `${pulumi.getProject()}-${pulumi.getStack()}-${name}`.replace(/[^a-zA-Z0-9.-]/g, "-");
}

/**
 * A credential in the place of another. The outputs of an import hold what the service shows, which does not tell them
 * apart; the inputs of the last run do, unless they come from there as well.
 */
function credentialChange(
  ctx: Context,
  { name, destinationConf: declared }: JobArgs,
  before: unknown,
): string | undefined {
  if (typeof before !== "string" || sameDestination(declared, before)) return undefined;
  if (hidesCredentials(before)) {
    ctx.say.warn(
      `${jobLabel(name)}: what is recorded of the destination hides its credentials, so a new one is not told from the old: it is sent with the job's next change.`,
    );
    return undefined;
  }
  return samePlace(declared, before)
    ? `${jobLabel(name)}: the destination is the same place with other credentials or options; the job is written.`
    : undefined;
}

/** What is recorded besides the arguments. The service's words may hold what is secret. */
function computedOutputs(
  ctx: Context,
  args: JobArgs,
  job: Job,
  allFields: readonly string[] | undefined,
): Computed {
  const { errorMessage, ...health } = healthOf(job);
  return {
    ...health,
    ...(errorMessage === undefined ? {} : { errorMessage: ctx.redact(errorMessage) }),
    destinationShown: shownDestination(args.destinationConf),
    ...(allFields === undefined ? {} : { allFields: [...allFields] }),
  };
}

/** Says of a job whose last push failed, and nothing came after it. */
function warnIfFailing(ctx: Context, { name }: JobArgs, job: Job): void {
  const { lastComplete, lastError, errorMessage = "the service gives no reason" } = healthOf(job);
  if (lastError === undefined) return;
  if (lastComplete !== undefined && Date.parse(lastComplete) >= Date.parse(lastError)) return;
  const since =
    lastComplete === undefined
      ? "nothing has been pushed yet"
      : `nothing has been pushed since ${lastComplete}`;
  ctx.say.warn(
    `${jobLabel(name)} (job ${job.id}) is failing: ${errorMessage.replace(/\.$/, "")} (${lastError}); ${since}.`,
  );
}
