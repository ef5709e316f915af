import { isNotFound } from "../api/errors";
import { LOGPUSH } from "../limits";
import type { CheckFailure } from "../runtime/inputs";
import type { Context, Findings } from "../runtime/lifecycle";
import { unlessForbidden } from "../runtime/live";
import { sameJson, type JsonObject } from "../runtime/values";
import { adoptionOf, findJobToAdopt } from "./adopt-job";
import { DATASETS, typesOf, ZONE_DATASETS } from "./dataset-fields";
import { samePlace } from "./destination-text";
import { fieldIssues, unknownField } from "./filter-fields";
import { parseFilter } from "./filter-read";
import type { Job } from "./job";
import { listFields, listJobs, scopeName, scopeOf, type ListedField } from "./job-api";
import { filterFinding, jobLabel, type JobArgs } from "./job-args";
import { warnOfMissingProof, lacksProof } from "./ownership";

/** What a preview asks Cloudflare about a job: whether it may be adopted, has room, and has the fields it names. */

interface Request {
  readonly ctx: Context;
  readonly args: JobArgs;
  readonly olds: JsonObject;
}

export async function checkJobLive({ ctx, args, olds }: Request): Promise<Findings> {
  const scope = scopeOf(args);
  let adopts: Pick<Findings, "adopts"> = {};
  // 1. A new job, or a replacement, that cannot be made or adopted is refused before anything runs.
  if (!isSameJob(args, olds)) {
    const jobs = await jobsOf(ctx, args);
    const adopted = await findJobToAdopt(ctx, args, jobs, pinnedFields(args, olds));
    if (adopted === undefined) {
      warnOfMissingProof(ctx, args);
      // The room that a replacement needs is judged where it is known which job goes.
      const full = Object.keys(olds).length === 0 ? limitFailure(ctx, args, jobs) : undefined;
      if (full !== undefined) return { failures: [full] };
    } else adopts = adoptionOf(ctx, args, adopted, pinnedFields(args, olds));
  } else if (isNewDestination(args, olds)) {
    warnOfMissingProof(ctx, args);
  }
  // 2. Its fields are those of the dataset, as the service lists them for this plan.
  const wantsFields = args.outputOptions?.fieldNames !== undefined || args.filter !== undefined;
  if (!wantsFields) return adopts;
  const judge = async (): Promise<Findings> => {
    try {
      const fields = await ctx.once(`fields of ${args.dataset} of ${scopeName(scope)}`, () =>
        listFields(ctx.api, scope, args.dataset),
      );
      return checkFields(ctx, args, olds, fields);
    } catch (error) {
      const reason = isNotFound(error) ? wrongDatasetReason(args) : undefined;
      if (reason === undefined) throw error;
      return { failures: [{ property: "dataset", reason }] };
    }
  };
  // The update itself asks only for what "all" stands for.
  if (args.outputOptions?.fieldNames === "all") return { ...adopts, ...(await judge()) };
  return { ...adopts, ...(await unlessForbidden(ctx, judge)) };
}

function checkFields(
  ctx: Context,
  args: JobArgs,
  olds: JsonObject,
  listed: readonly ListedField[],
): Findings {
  const types = typesOf(args.dataset, listed);
  const { dataset, filter } = args;
  const wanted = args.outputOptions?.fieldNames;
  const failures: { property: string; reason: string }[] = [];

  for (const [index, name] of (Array.isArray(wanted) ? wanted : []).entries()) {
    if (types.has(name)) continue;
    failures.push({
      property: `outputOptions.fieldNames[${index}]`,
      reason: unknownField(name, { dataset, types }),
    });
  }
  if (filter !== undefined && !sameJson([olds["filter"], olds["dataset"]], [filter, dataset])) {
    // Where it only warns, what the documentation says of the fields has been said before.
    const existenceOnly = args.filterChecks === "warn";
    const list = { dataset, types, complete: true, existenceOnly };
    const finding = filterFinding(args, fieldIssues(parseFilter(filter), list));
    if (finding !== undefined && "warning" in finding) ctx.say.warn(finding.warning);
    else if (finding !== undefined) failures.push(finding);
  }
  if (wanted !== "all") return { failures };

  const names = [...types.keys()];
  if (names.length === 0) {
    failures.push({
      property: "outputOptions.fieldNames",
      reason: `is "all", and the service lists no field of dataset ${dataset}; name the fields`,
    });
  }
  const pinned = pinnedFields(args, olds) ?? names;
  warnOfFieldChanges(ctx, args, pinned, names);
  return { computed: { allFields: pinned }, failures };
}

/** The fields that "all" has stood for since it was written, for the same dataset of the same zone or account. */
function pinnedFields(args: JobArgs, olds: JsonObject): readonly string[] | undefined {
  const before = olds["outputOptions"] as { readonly fieldNames?: unknown } | undefined;
  const same = (["zoneId", "accountId", "dataset"] as const).every((key) => sameJson(olds[key], args[key]));
  const pinned = olds["allFields"];
  const isList = Array.isArray(pinned) && pinned.every((name) => typeof name === "string");
  return args.outputOptions?.fieldNames === "all" && same && isList && before !== undefined
    ? pinned
    : undefined;
}

/** What "all" stands for: once resolved it stays. */
export async function resolvedFields(
  ctx: Context,
  args: JobArgs,
  inputs: JsonObject,
  state: JsonObject = {},
): Promise<readonly string[] | undefined> {
  if (args.outputOptions?.fieldNames !== "all") return undefined;
  const pinned = pinnedFields(args, state) ?? (inputs["allFields"] as readonly string[] | undefined);
  if (pinned !== undefined) return pinned;
  return (await listFields(ctx.api, scopeOf(args), args.dataset)).map(({ name }) => name);
}

const MAX_FIELDS_SHOWN = 10;

function warnOfFieldChanges(
  ctx: Context,
  args: JobArgs,
  pinned: readonly string[],
  names: readonly string[],
): void {
  const more = names.filter((name) => !pinned.includes(name));
  const fewer = pinned.filter((name) => !names.includes(name));
  if (more.length > 0) {
    const [is, it] = more.length === 1 ? ["field is", "it"] : ["fields are", "them"];
    ctx.say.warn(
      `${jobLabel(args.name)}: fieldNames "all" stands for the ${pinned.length} fields that ${args.dataset} had when it was written; ${more.length} ${is} new since: ${firstFields(more)}. ` +
        `To send ${it} too, name the fields, or take their names from getLogpushFields.`,
    );
  }
  if (fewer.length > 0) {
    ctx.say.warn(
      `${jobLabel(args.name)}: fieldNames "all" stands for fields that ${args.dataset} has no longer: ${firstFields(fewer)}. Name the fields to leave them out.`,
    );
  }
}

function firstFields(names: readonly string[]): string {
  return `${names.slice(0, MAX_FIELDS_SHOWN).join(", ")}${names.length > MAX_FIELDS_SHOWN ? ", …" : ""}`;
}

/** Whether an update is enough, of all that is recorded. */
function isSameJob(args: JobArgs, olds: JsonObject): boolean {
  return (["zoneId", "accountId", "dataset", "kind"] as const).every((key) => sameJson(olds[key], args[key]));
}

/** Whether the job is another one, or pushes to another place, than the one that is recorded. */
export function isNewDestination(args: JobArgs, olds: JsonObject): boolean {
  return (
    !isSameJob(args, olds) || typeof olds["destinationConf"] !== "string" || isDestinationMoved(args, olds)
  );
}

/** Whether a destination that is recorded is another place, whatever its credentials. */
export function isDestinationMoved({ destinationConf }: JobArgs, olds: JsonObject): boolean {
  const before = olds["destinationConf"];
  return typeof before === "string" && !samePlace(before, destinationConf);
}

/** Why the service has no fields for the dataset, where that is certain. */
function wrongDatasetReason({ dataset, zoneId }: JobArgs): string | undefined {
  const kind = zoneId === undefined ? "account" : "zone";
  if (!(DATASETS as readonly string[]).includes(dataset)) {
    return `is ${JSON.stringify(dataset)}, which the service does not know for this ${kind}`;
  }
  if (ZONE_DATASETS.includes(dataset) === (kind === "zone")) return undefined; // It may know no fields of this one.
  const other = kind === "zone" ? "accountId" : "zoneId";
  return `is ${JSON.stringify(dataset)}, which this ${kind} does not have; set ${other} instead of ${kind}Id`;
}

/** The jobs of the zone or account, read once per operation. */
function jobsOf(ctx: Context, args: JobArgs): Promise<readonly Job[]> {
  const scope = scopeOf(args);
  return ctx.once(`log-push jobs of ${scopeName(scope)}`, () => listJobs(ctx.api, scope));
}

/** A new job that there is no room for. */
function limitFailure(ctx: Context, args: JobArgs, jobs: readonly Job[]): CheckFailure | undefined {
  const full = limitReason(ctx, args, jobs);
  if (full === undefined) return undefined;
  const reason = `${jobLabel(args.name)}: ${full}. Delete a job first, in an update of its own; or, if Cloudflare has raised the limit, say so with "pulumi config set edgeguard:logpushJobsPerZone <number>".`;
  return { property: "", reason };
}

/**
 * Why job `id` has to be deleted before its replacement is created; undefined where there is room for both, or where an
 * existing job becomes the replacement. A create that is certain to fail deletes nothing first.
 *
 * @throws AdoptionError where the create would be refused.
 */
export async function deleteFirstReason(
  ctx: Context,
  args: JobArgs,
  id: string,
): Promise<string | undefined> {
  const jobs = await jobsOf(ctx, args);
  if (!jobs.some((job) => job.id === id)) return undefined; // It leaves the zone, or is gone: that makes no room here.
  if (lacksProof(args)) return undefined;
  if ((await findJobToAdopt(ctx, args, jobs, undefined)) !== undefined) return undefined;
  const full = limitReason(ctx, args, jobs);
  if (full === undefined) return undefined;
  plannedJobs(ctx, args).set(jobKey(args), 0); // It takes the place of the old one.
  return `${jobLabel(args.name)}: ${full}. Job ${id} is deleted before its replacement is created: nothing is pushed in between.`;
}

/** The jobs that the operation creates in the scope: how many more each of them makes. */
function plannedJobs(ctx: Context, args: JobArgs): Map<string, 0 | 1> {
  return ctx.shared(`new Logpush jobs of ${scopeName(scopeOf(args))}`, () => new Map<string, 0 | 1>());
}

function jobKey({ name, dataset, kind }: JobArgs): string {
  return JSON.stringify([name, dataset, kind]);
}

/** Says that there is no room for this job, beside those that the operation creates before it. It takes the room there is. */
function limitReason(ctx: Context, args: JobArgs, jobs: readonly Job[]): string | undefined {
  if (args.zoneId === undefined) return undefined; // No limit is documented for the jobs of an account.
  const planned = plannedJobs(ctx, args);
  const own = jobKey(args);
  const more = [...planned].filter(([key, more]) => key !== own && more === 1).length;
  const { logpushJobsPerZone: raised } = ctx.settings;
  const limit = raised ?? LOGPUSH.MAX_JOBS_PER_ZONE;
  const isRaised = raised === undefined && jobs.length > limit; // More than the documented ones were made already.
  if (isRaised || jobs.length + more < limit) {
    planned.set(own, 1);
    return undefined;
  }
  const created = more === 0 ? "" : `, this update creates ${more} more`;
  return `zone ${args.zoneId} has ${jobs.length} Logpush jobs${created}, and the ${raised === undefined ? "documented limit" : "limit set by edgeguard:logpushJobsPerZone"} is ${limit}`;
}
