import { isNotFound } from "../api/errors";
import { LOGPUSH } from "../limits";
import type { CheckFailure } from "../runtime/inputs";
import type { Context, Findings } from "../runtime/lifecycle";
import { unlessForbidden } from "../runtime/live";
import { nearest } from "../runtime/nearest";
import { pluralize, sameJson, type JsonObject } from "../runtime/values";
import { adoptionOf, EXISTING_JOB, findJobToAdopt } from "./adopt-job";
import { DATASETS, typesOf, ZONE_DATASETS } from "./dataset-fields";
import { samePlace } from "./destination-text";
import { fieldIssues, unknownField } from "./filter-fields";
import { parseFilter } from "./filter-read";
import type { Job } from "./job";
import { listFields, listJobs, scopeName, scopeOf, type ListedField } from "./job-api";
import { filterFinding, jobLabel, type JobArgs } from "./job-args";
import { warnOfMissingProof, lacksProof } from "./ownership";

/**
 * A job's live checks: whether an existing job can be adopted, whether the zone's job limit allows another job, and
 * whether the fields exist.
 */

interface Request {
  readonly ctx: Context;
  readonly args: JobArgs;
  readonly olds: JsonObject;
}

export async function checkJobLive({ ctx, args, olds }: Request): Promise<Findings> {
  const scope = scopeOf(args);
  let adopts: Pick<Findings, "adopts"> = {};
  // 1. A job that can be neither created nor adopted fails the preview.
  if (!isSameJob(args, olds)) {
    const jobs = await jobsOf(ctx, args);
    const adopted = await findJobToAdopt(ctx, args, jobs, pinnedFields(args, olds));
    if (adopted === undefined) {
      warnOfMissingProof(ctx, args);
      // For a replacement, the review checks the limit, because it knows which job will be deleted.
      const full = Object.keys(olds).length === 0 ? limitFailure(ctx, args, jobs) : undefined;
      if (full !== undefined) return { failures: [full] };
    } else adopts = adoptionOf(ctx, args, adopted, pinnedFields(args, olds));
  } else if (isNewDestination(args, olds)) {
    warnOfMissingProof(ctx, args);
  }
  // 2. Its fields must be among those that the API lists for the dataset on this plan.
  const wantsFields = args.outputOptions?.fieldNames !== undefined || args.filter !== undefined;
  const existing: Findings = { ...adopts, seen: isSameJob(args, olds) ? [] : [EXISTING_JOB] };
  if (!wantsFields) return existing;
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
  // Only "all" also needs the list during the update. Otherwise, a missing permission is just a warning.
  if (args.outputOptions?.fieldNames === "all") return { ...existing, ...(await judge()) };
  return { ...existing, ...(await unlessForbidden(ctx, judge)) };
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

  for (const [index, name] of (typeof wanted === "object" ? wanted : []).entries()) {
    if (types.has(name)) continue;
    failures.push({
      property: `outputOptions.fieldNames[${index}]`,
      reason: unknownField(name, { dataset, types }),
    });
  }
  if (filter !== undefined && !sameJson([olds["filter"], olds["dataset"]], [filter, dataset])) {
    // With "warn", the rules have already warned about violations of what's documented.
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
      reason: `can't be "all", since the API lists no fields of dataset ${dataset}. List the fields by name`,
    });
  }
  const pinned = pinnedFields(args, olds) ?? names;
  warnOfFieldChanges(ctx, args, pinned, names);
  return { computed: { allFields: pinned }, failures };
}

/**
 * Returns the fields that `fieldNames: "all"` meant when it was set. Undefined if the dataset, zone or account has
 * changed.
 */
function pinnedFields(args: JobArgs, olds: JsonObject): readonly string[] | undefined {
  const before = olds["outputOptions"] as { readonly fieldNames?: unknown } | undefined;
  const same = (["zoneId", "accountId", "dataset"] as const).every((key) => sameJson(olds[key], args[key]));
  const pinned = olds["allFields"];
  const isList = Array.isArray(pinned) && pinned.every((name) => typeof name === "string");
  return args.outputOptions?.fieldNames === "all" && same && isList && before !== undefined
    ? pinned
    : undefined;
}

/** Returns the fields that `fieldNames: "all"` means. Once resolved, they don't change. */
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
    const it = more.length === 1 ? "it" : "them";
    ctx.say.warn(
      `${jobLabel(args.name)}: the job won't push ${more.length} new ${more.length === 1 ? "field" : "fields"} of ${args.dataset}: ${firstFields(more)}. ` +
        `fieldNames: "all" means the ${pinned.length === 1 ? "field" : `${pinned.length} fields`} that the dataset had when you set it. To push ${it} too, list the fields by name, or get the names from getLogpushFields.`,
    );
  }
  if (fewer.length > 0) {
    const [what, it] = fewer.length === 1 ? ["a field", "it"] : ["fields", "them"];
    ctx.say.warn(
      `${jobLabel(args.name)}: fieldNames: "all" includes ${what} that ${args.dataset} no longer has: ${firstFields(fewer)}. To drop ${it}, list the other fields by name.`,
    );
  }
}

function firstFields(names: readonly string[]): string {
  return `${names.slice(0, MAX_FIELDS_SHOWN).join(", ")}${names.length > MAX_FIELDS_SHOWN ? ", …" : ""}`;
}

/** Whether an update can turn the recorded job into the declared one. */
function isSameJob(args: JobArgs, olds: JsonObject): boolean {
  return (["zoneId", "accountId", "dataset", "kind"] as const).every((key) => sameJson(olds[key], args[key]));
}

/** Whether the job is new, or its destination isn't the recorded one. */
export function isNewDestination(args: JobArgs, olds: JsonObject): boolean {
  return (
    !isSameJob(args, olds) || typeof olds["destinationConf"] !== "string" || isDestinationMoved(args, olds)
  );
}

/** Whether the declared destination is a different location from the recorded one. Credentials are ignored. */
export function isDestinationMoved({ destinationConf }: JobArgs, olds: JsonObject): boolean {
  const before = olds["destinationConf"];
  return typeof before === "string" && !samePlace(before, destinationConf);
}

/** Returns why the API lists no fields for the dataset. Undefined unless the reason is certain. */
function wrongDatasetReason({ dataset, zoneId }: JobArgs): string | undefined {
  const kind = zoneId === undefined ? "account" : "zone";
  if (!(DATASETS as readonly string[]).includes(dataset)) {
    const near = nearest(dataset, DATASETS);
    const advice =
      near === undefined ? `Datasets: ${DATASETS.join(", ")}` : `Did you mean ${JSON.stringify(near)}?`;
    return `${JSON.stringify(dataset)} is not a dataset of this ${kind}. ${advice}`;
  }
  if (ZONE_DATASETS.includes(dataset) === (kind === "zone")) return undefined; // The API may simply list no fields.
  const other = kind === "zone" ? "accountId" : "zoneId";
  return `${JSON.stringify(dataset)} is not a dataset of this ${kind}. Set ${other} instead of ${kind}Id`;
}

/** Lists the jobs of the zone or account, once per operation. */
function jobsOf(ctx: Context, args: JobArgs): Promise<readonly Job[]> {
  const scope = scopeOf(args);
  return ctx.once(`Logpush jobs of ${scopeName(scope)}`, () => listJobs(ctx.api, scope));
}

/** Returns the preview's failure if a new job would exceed the zone's job limit. */
function limitFailure(ctx: Context, args: JobArgs, jobs: readonly Job[]): CheckFailure | undefined {
  const full = limitReason(ctx, args, jobs);
  if (full === undefined) return undefined;
  const reason = `${jobLabel(args.name)}: ${full}. Delete a job first, in a separate update. If Cloudflare has raised your limit, run "pulumi config set edgeguard:logpushJobsPerZone <number>".`;
  return { property: "", reason };
}

/**
 * Returns why job `id` must be deleted before its replacement is created. Undefined if the job limit allows both, if an
 * existing job becomes the replacement, or if the create is certain to fail.
 *
 * @throws AdoptionError if the existing job can't be adopted.
 */
export async function deleteFirstReason(
  ctx: Context,
  args: JobArgs,
  id: string,
): Promise<string | undefined> {
  const jobs = await jobsOf(ctx, args);
  // It's in another zone or already gone, so deleting it makes no room here.
  if (!jobs.some((job) => job.id === id)) return undefined;
  if (lacksProof(args)) return undefined;
  if ((await findJobToAdopt(ctx, args, jobs, undefined)) !== undefined) return undefined;
  const full = limitReason(ctx, args, jobs);
  if (full === undefined) return undefined;
  plannedJobs(ctx, args).set(jobKey(args), 0); // It takes the old one's place.
  return `${jobLabel(args.name)}: ${full}. Job ${id} will be deleted before its replacement is created; no logs will be pushed in between.`;
}

/**
 * Returns the jobs that this operation creates in the zone or account, and how many jobs each one adds: zero if it
 * replaces another.
 */
function plannedJobs(ctx: Context, args: JobArgs): Map<string, 0 | 1> {
  return ctx.shared(`new Logpush jobs of ${scopeName(scopeOf(args))}`, () => new Map<string, 0 | 1>());
}

function jobKey({ name, dataset, kind }: JobArgs): string {
  return JSON.stringify([name, dataset, kind]);
}

/**
 * Returns why the job limit doesn't allow this job in addition to the others that the operation creates. If the limit
 * allows it, counts the job and returns undefined.
 */
function limitReason(ctx: Context, args: JobArgs, jobs: readonly Job[]): string | undefined {
  if (args.zoneId === undefined) return undefined; // No limit is documented for accounts.
  const planned = plannedJobs(ctx, args);
  const own = jobKey(args);
  const more = [...planned].filter(([key, more]) => key !== own && more === 1).length;
  const { logpushJobsPerZone: raised } = ctx.settings;
  const limit = raised ?? LOGPUSH.MAX_JOBS_PER_ZONE;
  // The zone already has more jobs than the documented limit.
  const isRaised = raised === undefined && jobs.length > limit;
  if (isRaised || jobs.length + more < limit) {
    planned.set(own, 1);
    return undefined;
  }
  const created = more === 0 ? "" : ` and this update already creates ${pluralize(more, "other")}`;
  return `zone ${args.zoneId} has ${pluralize(jobs.length, "Logpush job")}${created}; the ${raised === undefined ? "documented limit" : "limit set by edgeguard:logpushJobsPerZone"} is ${limit}`;
}
