import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { adoptionOf, findJobToAdopt } from "./adopt-job";
import type { Dataset } from "./dataset-fields";
import type { Destination } from "./destination";
import { typedDestination } from "./destination-schemes";
import {
  differsInHidden,
  hideDestination,
  hidesCredentials,
  isShownAs,
  sameAddress,
  sameDestination,
  samePlace,
  shownDestination,
} from "./destination-text";
import type { Filter } from "./filter";
import { filterMeaning } from "./filter-text";
import { differs, existingJob, jobFromApi, unmanagedOf, type Job } from "./job";
import { jobsPath, listJobs, readJob } from "./job-api";
import { defaultName, destinationName, jobArgs, jobLabel, jobRules, type JobArgs } from "./job-args";
import { isNewDestination, destinationMove, checkJobLive, currentJob, resolvedFields } from "./job-live";
import type { OutputOptionsArgs } from "./output-options";
import { lacksProof, assertTokenUsable, tokenFinding, proofError } from "./ownership";
import { createJob, writeJob } from "./write-job";
import type { Adopt, LiteralUnion } from "../runtime/fields";
import type { Adopted } from "../runtime/adopted";
import { CompositeId, scopeName, scopeOf } from "../runtime/composite-id";
import type { Context } from "../runtime/lifecycle";
import { LOCK } from "../runtime/locks";
import { refusal } from "../runtime/program";
import { defineResource } from "../runtime/resource";
import { trimEnd } from "../basics/printable";
import { isJsonObject, pick } from "../basics/json";
import { UNKNOWN } from "../runtime/engine-values";
import type { Unmanaged } from "../runtime/unmanaged";

const computed = z.object({
  lastComplete: z.string().exactOptional(),
  lastError: z.string().exactOptional(),
  errorMessage: z.string().exactOptional(),
  destinationShown: z.string().exactOptional(),
  allFields: z.array(z.string()).exactOptional(),
  // What a refresh found in the secret part of the destination, which a plan hides.
  drift: z.string().exactOptional(),
});
type Computed = z.output<typeof computed>;

/** The arguments that say where lines go, whatever else isn't known yet, and what a message about that names. */
const DERIVED_FROM: readonly string[] = ["destinationConf", "ownershipChallenge", "name"];

export const logpushJob = defineResource({
  type: "LogpushJob",
  compositeId: new CompositeId(["zone/<zone ID>/<job ID>", "account/<account ID>/<job ID>"]),
  importedWith: "--only logpush",
  schemaVersion: 1,
  upgrades: {},
  args: jobArgs,
  computed,
  computedInputs: ["destinationShown", "destinationMoved", "allFields", "adopted"],
  pending: ({ inputs, olds }) => [
    "destinationShown",
    ...("destinationConf" in olds && !("destinationShown" in inputs) ? ["destinationMoved"] : []),
    ...(mayMeanAllFields(inputs["outputOptions"]) ? ["allFields"] : []),
  ],
  // The create or update that the token was issued for consumes it.
  compared: { ignore: ["ownershipChallenge"], also: [] },
  equal: {
    filter: (before, after) => filterMeaning(before) === filterMeaning(after),
    // A refresh or an import may have recorded the destination with its credentials hidden.
    destinationConf: (before, after) =>
      typeof before === "string" && typeof after === "string" && isShownAs(after, before),
  },
  writtenAs: (given) => ({ destinationConf: destinationName(given) }),
  replaceOn: ["zoneId", "accountId", "dataset", "kind"],
  named: (about) => ({ name: defaultName(about) }),
  claims: [
    {
      by: ["zoneId", "accountId", "dataset", "name"],
      of({ zoneId, accountId, dataset, name }) {
        const id = zoneId ?? accountId;
        if (id === undefined) return [];
        const owner = `${zoneId === undefined ? "account" : "zone"} ${id}`;
        return [
          {
            key: JSON.stringify([owner, dataset, name]),
            clash: `both declare Logpush job ${JSON.stringify(name)} for dataset ${dataset} in ${owner}. Give each job a different name`,
          },
        ];
      },
    },
  ],
  secret: {
    destinationConf(redactor, given) {
      const text = typeof given === "string" ? given : typedDestination.safeParse(given).data;
      if (text === undefined) redactor.addStrings(given);
      else hideDestination(redactor, text);
    },
    ownershipChallenge: (redactor, given) => redactor.addValue(given),
  },
  lock: (args) => LOCK.logpush(scopeName(scopeOf(args))),
  rules: jobRules,

  deriveWithout: jobArgs.keyof().options.filter((name) => !DERIVED_FROM.includes(name)),
  derive({ ctx, args, olds }) {
    const finding = isNewDestination(args, olds) ? tokenFinding(args) : undefined;
    if (finding !== undefined && "warning" in finding) {
      ctx.say.warn(`${jobLabel(args.name)}: ownershipChallenge ${finding.warning}.`);
    }
    const due = credentialChange(ctx, args, olds["destinationConf"]);
    return Promise.resolve({
      computed: {
        destinationShown: shownDestination(args.destinationConf),
        // The destinations are secret, so a reviewer couldn't see the change otherwise.
        destinationMoved: destinationMove(args, olds),
      },
      ...(due === undefined ? {} : { pendingWork: due }),
      ...(finding !== undefined && "reason" in finding
        ? { failures: [{ property: "ownershipChallenge", reason: finding.reason }] }
        : {}),
    });
  },

  // The dataset may have new fields even if the job hasn't changed.
  liveAlways: ({ outputOptions }) => outputOptions?.fieldNames === "all",

  current: ({ ctx, olds, inputs }) => currentJob(ctx, olds, inputs),
  live: checkJobLive,

  async create({ ctx, args, inputs }) {
    assertTokenUsable(args);
    const scope = scopeOf(args);
    const jobs = await listJobs(ctx.api, scope, { complete: true });
    const allFields = await resolvedFields(ctx, args, inputs);
    const adopted = await findJobToAdopt(ctx, args, jobs, allFields);
    if (adopted !== undefined) {
      // Everything undeclared is reset to its default.
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
    const made = await createJob(ctx, args, jobs, allFields);
    return { id: made.id, computed: computedOutputs(ctx, args, made, allFields) };
  },

  async read({ ctx, id, state }) {
    const job = await readJob(ctx.api, scopeOf(state), id);
    const declared = pick(state, Object.keys(jobArgs.shape)) as JobArgs; // State contains every argument.
    const found = jobFromApi(declared, job, { allFields: state.allFields });
    warnIfFailing(ctx, found, job);
    const { ownershipChallenge } = state; // The API never returns it.
    return {
      ...found,
      ...(ownershipChallenge === undefined ? {} : { ownershipChallenge }),
      ...computedOutputs(ctx, found, job, state.allFields),
      ...(differsInHidden(found.destinationConf, state.destinationConf)
        ? { drift: "the destination differs in a part that isn't shown" }
        : {}),
    };
  },

  async existing({ ctx, address: { scope, id } }) {
    const job = await readJob(ctx.api, scope, id);
    const outputs = existingJob(scope, job);
    if (outputs.destinationConf === "")
      ctx.say.info(
        `${jobLabel(job.name)}: Cloudflare doesn't return the job's destination, so destinationConf is empty.`,
      );
    return { id, outputs: { ...outputs } };
  },

  list: ({ ctx, scope }) => listJobs(ctx.api, scope),

  async update({ ctx, id, state, args, inputs }) {
    const allFields = await resolvedFields(ctx, args, inputs, state);
    const job = await readJob(ctx.api, scopeOf(args), id);
    if (!differs(args, state, job, allFields)) return computedOutputs(ctx, args, job, allFields);
    if (!sameAddress(args.destinationConf, state.destinationConf)) {
      assertTokenUsable(args);
      if (lacksProof(args)) throw await proofError(ctx, args, "changed");
    }
    return computedOutputs(ctx, args, await writeJob(ctx, args, job, state, allFields), allFields);
  },

  async delete({ ctx, id, state }) {
    const scope = scopeOf(state);
    await ctx.api.delete(`${jobsPath(scope)}/${id}`, {
      what: `Deleting Logpush job ${id} of ${scopeName(scope)}`,
      schema: z.unknown(),
    });
  },
});

/** Arguments of a `LogpushJob`. */
export interface LogpushJobArgs {
  /**
   * The ID of the zone whose logs are pushed (32 hex digits). Set either `zoneId` or `accountId`. Changing it replaces
   * the job.
   */
  readonly zoneId?: pulumi.Input<string>;
  /**
   * The ID of the account whose logs are pushed (32 hex digits). Needed for datasets that don't belong to a zone. Set
   * either `zoneId` or `accountId`; the setting `edgeguard:accountId` doesn't apply. Changing it replaces the job.
   */
  readonly accountId?: pulumi.Input<string>;
  /**
   * The job's name, 1 to 512 characters. Together with the zone or account and the dataset, it identifies the job.
   * Updates in place.
   *
   * @defaultValue `<project>-<stack>-<resource name>`, with `-` for everything but letters, digits, `.` and `-`
   */
  readonly name?: pulumi.Input<string>;
  /** The kind of log, such as `http_requests` or `firewall_events`. Changing it replaces the job. */
  readonly dataset: pulumi.Input<LiteralUnion<Dataset>>;
  /**
   * Where to push logs, from a builder: `destination.s3({ bucket: "logs", region: "us-east-1" })`. Set either
   * `destination` or `destinationConf`. Secret, and recorded as `destinationConf`. Updates in place. With
   * `ignoreChanges: ["destination"]`, changing it sends nothing.
   */
  readonly destination?: pulumi.Input<Destination>;
  /**
   * Where to push logs, as a string in the API's format: `s3://logs/http/{DATE}?region=us-east-1`, at most 4,096
   * characters. Set either `destination` or `destinationConf`. Secret. The order of its parameters doesn't matter.
   * Updates in place.
   */
  readonly destinationConf?: pulumi.Input<string>;
  /**
   * What's written for each log line, and how. All options are sent together: those you leave out are reset to their
   * defaults. Updates in place.
   *
   * @defaultValue Cloudflare's defaults
   */
  readonly outputOptions?: pulumi.Input<OutputOptionsArgs>;
  /**
   * Which log lines are pushed: from the `filter` builders, or JSON as a string. At most about 30 operators
   * (comparisons and groups) and 1,000 bytes. Compared by meaning: whitespace and the order of conditions, list
   * elements and JSON properties don't matter. Updates in place.
   *
   * @defaultValue all lines
   */
  readonly filter?: pulumi.Input<Filter | string>;
  /**
   * What to do with a filter that exceeds the documented limits ("about 30 operators and 1000 bytes") or doesn't match
   * the documented types of its fields. `"error"` fails the preview; `"warn"` warns and sends the filter anyway.
   * Changing it writes nothing.
   *
   * @defaultValue `"error"`
   */
  readonly filterChecks?: pulumi.Input<LiteralUnion<"error" | "warn">>;
  /**
   * Whether the job pushes logs. Always sent, because the API's own default is `false`. Updates in place.
   *
   * @defaultValue `true`
   */
  readonly enabled?: pulumi.Input<boolean>;
  /**
   * How often files are written. Cloudflare has deprecated this option in favor of `maxUploadBytes`,
   * `maxUploadIntervalSeconds` and `maxUploadRecords`. Updates in place.
   *
   * @defaultValue `"high"`
   */
  readonly frequency?: pulumi.Input<LiteralUnion<"high" | "low">>;
  /**
   * The maximum size of a file in bytes, before compression: 5,000,000 to 1,000,000,000, or 0 for no limit. Updates in place.
   *
   * @defaultValue Cloudflare's default
   */
  readonly maxUploadBytes?: pulumi.Input<number>;
  /**
   * The maximum time between files in seconds: 30 to 300, or 0 for no limit. Updates in place.
   *
   * @defaultValue Cloudflare's default
   */
  readonly maxUploadIntervalSeconds?: pulumi.Input<number>;
  /**
   * The maximum number of lines in a file: 1,000 to 1,000,000, or 0 for no limit. Updates in place.
   *
   * @defaultValue Cloudflare's default
   */
  readonly maxUploadRecords?: pulumi.Input<number>;
  /**
   * Whether attack traffic that DDoS protection handles is left out of the logs. Works only with datasets
   * `http_requests`, `firewall_events` and `network_analytics_logs`. Updates in place.
   *
   * @defaultValue `false`
   */
  readonly filterAttackTraffic?: pulumi.Input<boolean>;
  /**
   * The ID of a `LogpushTransformer`: an SQL query of the account that drops or rewrites log lines. Its dataset must be
   * the job's, or the update fails, and `outputType` must be `"ndjson"`. Updates in place.
   *
   * @defaultValue no transformer
   */
  readonly transformerId?: pulumi.Input<number | string>;
  /**
   * `"edge"` makes an Edge Log Delivery job. Works only with dataset `http_requests`. Changing it replaces the job.
   *
   * @defaultValue `""`, an ordinary job
   */
  readonly kind?: pulumi.Input<LiteralUnion<"" | "edge">>;
  /**
   * The ownership token for destinations that need one: S3 without keys, Google Cloud Storage, Azure and Sumo Logic.
   * Without it, an update asks Cloudflare to write a token to the destination, creates no job, and names the token's
   * file. A token is valid for 7 days. Secret. Write-only. It's sent only when the job is created or its destination
   * changes; changing it alone does nothing.
   */
  readonly ownershipChallenge?: pulumi.Input<string>;
  /**
   * What to do with an existing job that has the same name and dataset in the same zone or account. `"ifEqual"` adopts
   * a job if everything that the API shows of it matches, and writes it once. `"takeOver"` also changes what differs.
   * `"never"` always fails. Changing it writes nothing.
   *
   * @defaultValue `"ifEqual"`
   */
  readonly adopt?: pulumi.Input<LiteralUnion<Adopt>>;
  /** API fields of a job that this version doesn't know. They're sent unchanged. Updates in place. */
  readonly extra?: pulumi.Input<Record<string, unknown>>;
}

/**
 * A Logpush job, which pushes one dataset of a zone or an account to a destination.
 *
 * The destination is always secret, in the state and in messages. Some destinations need an ownership challenge: the
 * first `pulumi up` asks Cloudflare to write a token there and names the file; set `ownershipChallenge` to its content
 * and run `pulumi up` again. A refresh warns if the job is failing.
 *
 * If a program doesn't set `outputOptions`, their `fieldNames`, `frequency` or one of the `maxUpload…` arguments, what
 * someone else sets there isn't drift, and stays.
 *
 * Token permissions: Logs Write, even for a preview. Grant it for the zone or the account that the job belongs to. A
 * Zero Trust dataset also needs Zero Trust: PII Read.
 *
 * @example Push server errors to an HTTPS endpoint
 * ```ts
 * import { destination, filter, LogpushJob } from "pulumi-edgeguard";
 *
 * const { and, geq, notContains, where } = filter;
 *
 * new LogpushJob("server-errors", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   dataset: "http_requests",
 *   destination: destination.https({
 *     url: "https://logs.example.com/cloudflare",
 *     headers: { Authorization: `Bearer ${process.env["LOGS_TOKEN"] ?? ""}` },
 *   }),
 *   outputOptions: {
 *     fieldNames: ["EdgeStartTimestamp", "ClientRequestHost", "ClientRequestPath", "EdgeResponseStatus", "RayID"],
 *     timestampFormat: "rfc3339",
 *   },
 *   filter: where(and(geq("EdgeResponseStatus", 500), notContains("ClientRequestPath", "/health"))),
 * });
 * ```
 * @example Push an account's audit log, with credentials from the stack's configuration
 * ```ts
 * import * as pulumi from "@pulumi/pulumi";
 * import { destination, LogpushJob } from "pulumi-edgeguard";
 *
 * const token = new pulumi.Config().getSecret("splunkToken"); // pulumi config set --secret splunkToken <token>
 *
 * new LogpushJob("audit-log", {
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   dataset: "audit_logs",
 *   destination: destination.splunk({
 *     endpoint: "splunk.example.com:8088/services/collector/raw",
 *     channel: "9d3c1f52-7a44-4f0e-9b1d-2f6a1c0e8b57",
 *     token: pulumi.output(token).apply((value) => value ?? "local-token"),
 *   }),
 *   outputOptions: { fieldNames: "all" },
 *   maxUploadIntervalSeconds: 60,
 * });
 * ```
 * @destroy Deletes the job. Logs that it has already pushed stay at the destination.
 * @importing `edgeguard import --zone <zone ID> --only logpush`, or `--account <account ID>`, writes the program and
 * the import file. The resource's ID is the job's number.
 * @reading `destinationConf` is secret and has the form that Cloudflare shows: credentials may be masked, and it's
 * empty if Cloudflare doesn't show it.
 * @throws in the preview, if the filter, a field, the destination or the ownership token is invalid.
 * @throws in the preview, if an existing job may not be adopted.
 * @throws in the update, if the zone's job limit is reached. To replace a job at the limit, set the resource option
 * `deleteBeforeReplace: true`.
 * @throws in the update, if the destination needs an ownership token. By then, Cloudflare has written a token there.
 * @see https://developers.cloudflare.com/logs/logpush/
 * @see `POST /zones/{zone_id}/logpush/jobs`
 * @see `PUT /zones/{zone_id}/logpush/jobs/{job_id}`
 * @see `POST /accounts/{account_id}/logpush/jobs`
 * @see `PUT /accounts/{account_id}/logpush/jobs/{job_id}`
 */
export class LogpushJob extends logpushJob.base<LogpushJobArgs>() {
  /** The destination as a string in the API's format. Secret. */
  declare readonly destinationConf: pulumi.Output<string>;
  /**
   * The destination without credentials: `s3://bucket/path?region=eu-west-1`. `[secret]` stands for a part that may
   * contain a credential.
   */
  declare readonly destinationShown: pulumi.Output<string>;
  /** The filter in the form that's sent. Undefined if all lines are pushed. */
  declare readonly filter: pulumi.Output<string | undefined>;
  /** The fields that `fieldNames: "all"` means. */
  declare readonly allFields: pulumi.Output<readonly string[] | undefined>;
  /** The time up to which logs have been pushed, as of the last read. */
  declare readonly lastComplete: pulumi.Output<string | undefined>;
  /** When a push last failed, as of the last read. Undefined if a push has succeeded since. */
  declare readonly lastError: pulumi.Output<string | undefined>;
  /** Why the last push failed, in Cloudflare's words, as of the last read. */
  declare readonly errorMessage: pulumi.Output<string | undefined>;
  /** The existing job that the resource adopted when it was created, and what adopting it changed. */
  declare readonly adopted: pulumi.Output<Adopted | undefined>;

  /**
   * Members of the job on Cloudflare that the program doesn't set. Booleans and numbers are shown; a digest stands
   * for any other value. Updates keep them.
   */
  declare readonly unmanaged: pulumi.Output<Unmanaged | undefined>;

  constructor(name: string, args: LogpushJobArgs, opts?: pulumi.CustomResourceOptions) {
    const { destination, destinationConf, ownershipChallenge, ...rest } = args;
    if (destination !== undefined && destinationConf !== undefined) {
      throw refusal(`edgeguard: LogpushJob "${name}": set either destination or destinationConf, not both.`);
    }
    const where = destination ?? destinationConf;
    super(
      name,
      {
        ...rest,
        ...(where === undefined ? {} : { destinationConf: pulumi.secret(where) }),
        ...(ownershipChallenge === undefined
          ? {}
          : { ownershipChallenge: pulumi.secret(ownershipChallenge) }),
      },
      renameIgnoredChanges(opts),
    );
  }
}

/** Renames `destination` in `ignoreChanges` to `destinationConf`, which is the argument's only name in the engine. */
function renameIgnoredChanges(opts: pulumi.CustomResourceOptions | undefined): pulumi.CustomResourceOptions {
  const { ignoreChanges, ...others } = opts ?? {};
  if (ignoreChanges === undefined) return others;
  const sent = (path: string): string => (/^destination(?!\w)/.test(path) ? "destinationConf" : path);
  return { ...others, ignoreChanges: ignoreChanges.map(sent) };
}

function mayMeanAllFields(outputOptions: unknown): boolean {
  const names = isJsonObject(outputOptions) ? outputOptions["fieldNames"] : outputOptions;
  return names === "all" || names === UNKNOWN;
}

/**
 * Returns a message if the destination's credentials change but its location doesn't. After a refresh or an
 * import, the recorded credentials may be masked. A change can't be detected then, so this function only warns.
 */
function credentialChange(
  ctx: Context,
  { name, destinationConf: declared }: JobArgs,
  before: unknown,
): string | undefined {
  if (typeof before !== "string" || sameDestination(declared, before)) return undefined;
  if (hidesCredentials(before)) {
    ctx.say.warn(
      `${jobLabel(name)}: this preview can't tell whether the destination's credentials changed, because the state has them masked. The next change to the job will send them.`,
    );
    return undefined;
  }
  if (shownDestination(declared) !== shownDestination(before)) return undefined;
  const where = samePlace(declared, before)
    ? "Its location stays the same."
    : "They may name another recipient of the log lines.";
  return `${jobLabel(name)}: the update writes the job, because the program's credentials for the destination aren't those in the state. ${where}`;
}

/**
 * Returns the outputs other than the arguments. The error message may quote a secret.
 */
function computedOutputs(
  ctx: Context,
  args: JobArgs,
  job: Job,
  allFields: readonly string[] | undefined,
): Computed {
  const { errorMessage, ...health } = job.health;
  ctx.noteUnmanaged(unmanagedOf(args, job));
  return {
    ...health,
    ...(errorMessage === undefined ? {} : { errorMessage: ctx.api.quote(errorMessage) }),
    destinationShown: shownDestination(args.destinationConf),
    ...(allFields === undefined ? {} : { allFields: [...allFields] }),
  };
}

/** Warns about a job whose last push failed. */
function warnIfFailing(ctx: Context, { name }: JobArgs, job: Job): void {
  const { lastComplete, lastError, errorMessage = "Cloudflare gave no reason" } = job.health;
  if (lastError === undefined) return;
  if (lastComplete !== undefined && Date.parse(lastComplete) >= Date.parse(lastError)) return;
  const since =
    lastComplete === undefined
      ? "Nothing has been pushed yet"
      : `Nothing has been pushed since ${lastComplete}`;
  ctx.say.warn(
    `${jobLabel(name)} (job ${job.id}) is failing: ${trimEnd(ctx.api.quote(errorMessage), ".")} (last error ${lastError}). ${since}.`,
  );
}
