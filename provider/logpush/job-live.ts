import { isNotFound } from "../api/errors";
import { firstOf, pluralize } from "../basics/words";
import { scopeName, scopeOf, type Scope } from "../runtime/composite-id";
import { keyedDigest } from "../runtime/impact";
import type { Context, ExistingObject, Findings } from "../runtime/lifecycle";
import { nearest } from "../basics/nearest";
import { isJsonObject, ownMember, pick, sameJson, type JsonObject } from "../basics/json";
import { adoptionOf, findJobToAdopt, SECRETS } from "./adopt-job";
import { DATASETS, isDocumentedFor, typesOf } from "./dataset-fields";
import {
  differsInHidden,
  hasLongSecret,
  isShownAs,
  sameAddress,
  samePlace,
  shownDestination,
} from "./destination-text";
import { fieldIssues, unknownField } from "./filter-fields";
import { parseFilter } from "./filter-read";
import { hasSameIdentity, jobFromApi, type Job } from "./job";
import { listFields, listJobs, type ListedField } from "./job-api";
import { SEEN } from "./impact";
import { filterFinding, jobArgs, jobLabel, type JobArgs } from "./job-args";
import { optionsFromApi } from "./output-options";
import { warnOfMissingProof } from "./ownership";

/** A job's live checks: whether an existing job can be adopted, and whether the fields exist. */

interface Request {
  readonly ctx: Context;
  readonly args: JobArgs;
  readonly olds: JsonObject;
}

/** Returns the arguments of the job that an update writes, as a refresh would record them, without secrets. */
export async function currentJob(
  ctx: Context,
  olds: JsonObject,
  inputs: JsonObject,
): Promise<ExistingObject | undefined> {
  const recorded = pick(olds, Object.keys(jobArgs.shape)) as unknown as JobArgs; // Inputs contain every argument.
  const jobs = (await ctx.unlessForbidden(() => cachedJobs(ctx, scopeOf(recorded)))) ?? [];
  const job = jobs.find((each) => hasSameIdentity(recorded, each));
  if (job === undefined) return undefined;
  const allFields = olds["allFields"] as readonly string[] | undefined;
  const exists = {
    ...jobFromApi(recorded, job, { allFields }),
    ...optionsBefore(recorded, inputs["outputOptions"], job, allFields),
  };
  const names = Object.keys({ ...recorded, ...exists }).filter((name) => !SECRETS.includes(name));
  const [shown, before] = [exists, recorded].map(({ destinationConf }) => shownDestination(destinationConf));
  const { destinationConf: next } = inputs;
  // Someone may have changed the destination to what the program says now.
  const isThere = typeof next === "string" && samePlace(exists.destinationConf, next);
  const isDeclared = typeof next === "string" && isShownAs(next, exists.destinationConf);
  const isOther = !isDeclared && differsInHidden(exists.destinationConf, recorded.destinationConf);
  const where = shown === before ? olds["destinationShown"] : shown;
  const args = {
    ...Object.fromEntries(names.map((name) => [name, ownMember(exists, name)])),
    destinationShown: isOther ? `${shown}, with another credential or tenant` : where,
  };
  return { id: job.id, args, ...(isThere && { rulesOut: ["destinationMoved"] }) };
}

/** Returns a job's options if the program declares some, or their fields, for the first time: the update resets all others. */
function optionsBefore(
  { outputOptions: recorded }: JobArgs,
  next: unknown,
  { raw }: Job,
  allFields: readonly string[] | undefined,
): Pick<JobArgs, "outputOptions"> {
  if (next === undefined) return {};
  const isFirst = recorded?.fieldNames === undefined && isJsonObject(next) && "fieldNames" in next;
  if (recorded !== undefined && !isFirst) return {};
  const declared = { ...recorded, ...(isFirst ? { fieldNames: [] } : {}) };
  const found = optionsFromApi(declared, raw["output_options"] ?? null, allFields);
  return Object.keys(found).length === 0 ? {} : { outputOptions: found };
}

// The create doesn't accept an incomplete list either.
const cachedJobs = (ctx: Context, scope: Scope): Promise<readonly Job[]> =>
  ctx.once(`Logpush jobs of ${scopeName(scope)}`, () => listJobs(ctx.api, scope, { complete: true }));

export function checkJobLive({ ctx, args, olds }: Request): Promise<readonly (() => Promise<Findings>)[]> {
  const scope = scopeOf(args);
  const list = (): Promise<readonly ListedField[]> =>
    ctx.once(`fields of ${args.dataset} of ${scopeName(scope)}`, () =>
      listFields(ctx.api, scope, args.dataset),
    );
  const isAll = args.outputOptions?.fieldNames === "all";
  // 1. An existing job that can't be adopted fails the preview.
  const existing = async (): Promise<Findings> => {
    if (isSameJob(args, olds)) {
      if (isNewDestination(args, olds)) warnOfMissingProof(ctx, args);
      return {};
    }
    const jobs = await cachedJobs(ctx, scope);
    const allFields =
      pinnedFields(args, olds) ?? (isAll ? (await list()).map(({ name }) => name) : undefined);
    const adopted = await findJobToAdopt(ctx, args, jobs, allFields);
    if (adopted === undefined) warnOfMissingProof(ctx, args);
    const adopts = adopted === undefined ? {} : adoptionOf(ctx, args, adopted, allFields);
    return { ...adopts, seen: [SEEN.existingJob] };
  };
  // 2. Its fields must be among those that the API lists for the dataset on this plan.
  const fields = async (): Promise<Findings> => {
    try {
      return checkFields(ctx, args, olds, await list());
    } catch (error) {
      const reason = isNotFound(error) ? wrongDatasetReason(args) : undefined;
      if (reason === undefined) throw error;
      return { failures: [{ property: "dataset", reason }] };
    }
  };
  const wantsFields = args.outputOptions?.fieldNames !== undefined || args.filter !== undefined;
  if (!wantsFields) return Promise.resolve([existing]);
  // Only "all" also needs the list during the update. Otherwise, a missing permission is just a warning.
  const informing = async (): Promise<Findings> => (await ctx.unlessForbidden(fields)) ?? {};
  return Promise.resolve([existing, isAll ? fields : informing]);
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
      `${jobLabel(args.name)}: the job won't push ${pluralize(more.length, "new field")} of ${args.dataset}: ${firstOf(more, MAX_FIELDS_SHOWN)}. ` +
        `fieldNames: "all" means the ${pinned.length === 1 ? "field" : `${pinned.length} fields`} that the dataset had when you set it. To push ${it} too, list the fields by name, or get the names from getLogpushFields.`,
    );
  }
  if (fewer.length > 0) {
    const [what, it] = fewer.length === 1 ? ["a field", "it"] : ["fields", "them"];
    ctx.say.warn(
      `${jobLabel(args.name)}: fieldNames: "all" includes ${what} that ${args.dataset} no longer has: ${firstOf(fewer, MAX_FIELDS_SHOWN)}. To drop ${it}, list the other fields by name.`,
    );
  }
}

/** Whether an update can turn the recorded job into the declared one. */
function isSameJob(args: JobArgs, olds: JsonObject): boolean {
  return (["zoneId", "accountId", "dataset", "kind"] as const).every((key) => sameJson(olds[key], args[key]));
}

/** Whether the job is new, or its destination needs another ownership token than the recorded one. */
export function isNewDestination(args: JobArgs, olds: JsonObject): boolean {
  const before = olds["destinationConf"];
  return !isSameJob(args, olds) || typeof before !== "string" || !sameAddress(before, args.destinationConf);
}

/**
 * Returns a digest of the change if the declared destination is another location or recipient than the recorded one.
 * The recorded secret is its key: whoever doesn't have that can't find out the new one by guessing, and the digest is
 * the same with every API token. True if the recorded secret could be guessed itself.
 */
export function destinationMove({ destinationConf }: JobArgs, olds: JsonObject): string | true | undefined {
  const before = olds["destinationConf"];
  if (typeof before !== "string" || samePlace(before, destinationConf)) return undefined;
  return hasLongSecret(before) ? keyedDigest(before, destinationConf) : true;
}

/** Returns why the API lists no fields for the dataset. Undefined unless the reason is certain. */
function wrongDatasetReason({ dataset, zoneId }: JobArgs): string | undefined {
  const kind = zoneId === undefined ? "account" : "zone";
  const isDocumented = isDocumentedFor(dataset, kind);
  if (isDocumented === undefined) {
    const near = nearest(dataset, DATASETS);
    const advice =
      near === undefined ? `Datasets: ${DATASETS.join(", ")}` : `Did you mean ${JSON.stringify(near)}?`;
    return `${JSON.stringify(dataset)} is not a dataset of this ${kind}. ${advice}`;
  }
  if (isDocumented) return undefined; // The API may simply list no fields.
  const other = kind === "zone" ? "accountId" : "zoneId";
  return `${JSON.stringify(dataset)} is not a dataset of this ${kind}. Set ${other} instead of ${kind}Id`;
}
