import type { Context, Findings } from "../runtime/lifecycle";
import { isNotFound } from "../api/errors";
import { sameJson, type Bag } from "../runtime/values";
import { chooseExisting } from "./adopt-job";
import { DATASETS, documentedFields, ZONE_DATASETS } from "./dataset-fields";
import { fieldIssues, unknownField } from "./filter-fields";
import { mustRead } from "./filter-read";
import { listFields, named, scopeOf, type ListedField } from "./job-api";
import type { JobArgs } from "./job-args";
import { jobsOf, warnOfFullZone } from "./job-quota";
import { filterFinding, job } from "./job-rules";
import { needsProof, samePlace, shownDestination } from "./destination-text";

/** What only the service can tell of a job before the apply. */

interface Request {
  readonly ctx: Context;
  readonly args: JobArgs;
  readonly olds: Bag;
}

export async function lookAtJob({ ctx, args, olds }: Request): Promise<Findings> {
  const scope = scopeOf(args);
  // 1. A new job, or a replacement, that cannot be made or adopted is refused before anything runs.
  if (!isSameJob(args, olds)) {
    const jobs = await jobsOf(ctx, args);
    const adopted = await chooseExisting(ctx, args, jobs, pinnedFields(args, olds));
    if (adopted === undefined) {
      announceProof(ctx, args);
      // The room that a replacement needs is judged where it is known which job goes.
      if (Object.keys(olds).length === 0) warnOfFullZone(ctx, args, jobs);
    }
  } else if (hasMoved(args, olds)) {
    announceProof(ctx, args);
  }
  // 2. Its fields are those of the dataset, as the service lists them for this plan.
  const wantsFields = args.outputOptions?.fieldNames !== undefined || args.filter !== undefined;
  if (!wantsFields) return {};
  let fields: ListedField[];
  try {
    fields = await ctx.once(`fields of ${args.dataset} of ${named(scope)}`, () =>
      listFields(ctx.api, scope, args.dataset),
    );
  } catch (error) {
    const reason = isNotFound(error) ? wrongDataset(args) : undefined;
    if (reason === undefined) throw error;
    return { failures: [{ property: "dataset", reason }] };
  }
  return judgeFields(ctx, args, olds, fields);
}

function judgeFields(ctx: Context, args: JobArgs, olds: Bag, listed: readonly ListedField[]): Findings {
  const documented = documentedFields(args.dataset);
  const types = new Map(listed.map(({ name, type }) => [name, type ?? documented?.get(name)]));
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
    const finding = filterFinding(args, fieldIssues(mustRead(filter), list));
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
  warnOfGrowth(ctx, args, pinned, names);
  return { computed: { allFields: pinned }, failures };
}

/** The fields that "all" has stood for since it was written, for the same dataset of the same zone or account. */
export function pinnedFields(args: JobArgs, olds: Bag): readonly string[] | undefined {
  const before = olds["outputOptions"] as { readonly fieldNames?: unknown } | undefined;
  const same = (["zoneId", "accountId", "dataset"] as const).every((key) => sameJson(olds[key], args[key]));
  const pinned = olds["allFields"];
  const isList = Array.isArray(pinned) && pinned.every((name) => typeof name === "string");
  return args.outputOptions?.fieldNames === "all" && same && isList && before !== undefined
    ? pinned
    : undefined;
}

const SHOWN_FIELDS = 10;

function warnOfGrowth(
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
      `${job(args.name)}: fieldNames "all" stands for the ${pinned.length} fields that ${args.dataset} had when it was written; ${more.length} ${is} new since: ${someOf(more)}. ` +
        `To send ${it} too, name the fields, or take their names from getLogpushFields.`,
    );
  }
  if (fewer.length > 0) {
    ctx.say.warn(
      `${job(args.name)}: fieldNames "all" stands for fields that ${args.dataset} has no longer: ${someOf(fewer)}. Name the fields to leave them out.`,
    );
  }
}

function someOf(names: readonly string[]): string {
  return `${names.slice(0, SHOWN_FIELDS).join(", ")}${names.length > SHOWN_FIELDS ? ", …" : ""}`;
}

/** Whether an update is enough, of all that is recorded. */
function isSameJob(args: JobArgs, olds: Bag): boolean {
  return (["zoneId", "accountId", "dataset", "kind"] as const).every((key) => sameJson(olds[key], args[key]));
}

/** Whether the job is another one, or pushes to another place, than the one that is recorded. */
export function hasMoved(args: JobArgs, olds: Bag): boolean {
  const before = olds["destinationConf"];
  return !isSameJob(args, olds) || typeof before !== "string" || !samePlace(before, args.destinationConf);
}

/** Says in a preview what the up will do about a proof of ownership that is not given. */
function announceProof(ctx: Context, args: JobArgs): void {
  if (args.ownershipChallenge !== undefined || !needsProof(args.destinationConf)) return;
  ctx.say.warn(
    `${job(args.name)}: ${shownDestination(args.destinationConf)} needs a proof of ownership, and ownershipChallenge is not set: the up has the service write a token there, makes nothing, and names the file.`,
  );
}

/** Why the service has no fields for the dataset, where that is certain. */
function wrongDataset({ dataset, zoneId }: JobArgs): string | undefined {
  const kind = zoneId === undefined ? "account" : "zone";
  if (!(DATASETS as readonly string[]).includes(dataset)) {
    return `is ${JSON.stringify(dataset)}, which the service does not know for this ${kind}`;
  }
  if (ZONE_DATASETS.includes(dataset) === (kind === "zone")) return undefined; // It may know no fields of this one.
  const other = kind === "zone" ? "accountId" : "zoneId";
  return `is ${JSON.stringify(dataset)}, which this ${kind} does not have; set ${other} instead of ${kind}Id`;
}
