import { isNotFound } from "../../api/errors";
import { DATASETS, documentedDatasets, documentedFields, typesOf } from "../../logpush/dataset-fields";
import { fieldIssues, type FieldList } from "../../logpush/filter-fields";
import { FilterError, type CheckedFilter, type FilterIssue } from "../../logpush/filter-read";
import { listFields, scopeName } from "../../logpush/job-api";
import type { Scope } from "../../runtime/composite-id";
import { nearest } from "../../basics/nearest";
import { UsageError } from "../../terminal/errors";
import { withHost } from "../../terminal/host";
import { printToStderr, type Io } from "../../terminal/io";

// Checks the filter against the fields of its dataset, the way the preview of a LogpushJob does.

export interface FieldOptions {
  readonly dataset?: string;
  readonly zone?: string;
  readonly account?: string;
}

/** @throws UsageError if the dataset is unknown, or the filter doesn't fit its fields. */
export async function checkFields(io: Io, filter: CheckedFilter, options: FieldOptions): Promise<void> {
  const { dataset, zone, account } = options;
  if (zone !== undefined || account !== undefined) {
    if (dataset === undefined)
      throw new UsageError("--zone and --account need a dataset. Pass --dataset <name>.");
    const scope: Scope =
      zone === undefined ? { kind: "account", id: account ?? "" } : { kind: "zone", id: zone };
    refuse(fieldIssues(filter, await liveFields(io, scope, dataset)));
    return;
  }
  if (dataset === undefined) {
    refuse(issuesAnywhere(filter), "If the filter is for another dataset, pass --dataset <name>.");
    return;
  }
  const types = documentedFields(dataset);
  if (types !== undefined) {
    const advice = "If the field is new, pass --zone <id> or --account <id> to check against the API.";
    refuse(fieldIssues(filter, { dataset, types, complete: true }), advice);
  } else if ((DATASETS as readonly string[]).includes(dataset)) {
    printToStderr(
      io,
      `edgeguard: the fields of ${dataset} weren't checked, because this version of edgeguard doesn't list them. Pass --zone <id> or --account <id> to check them against the API.`,
    );
  } else {
    const near = nearest(dataset, DATASETS);
    const advice = near === undefined ? `Use one of: ${DATASETS.join(", ")}.` : `Did you mean ${near}?`;
    throw new UsageError(`--dataset: ${dataset} is not a known dataset. ${advice}`);
  }
}

/** Returns the filter's issues with the dataset that fits it best, for when no dataset is given. */
function issuesAnywhere(filter: CheckedFilter): readonly FilterIssue[] {
  const [best = []] = documentedDatasets()
    .map(([dataset, types]) => fieldIssues(filter, { dataset, types, complete: true }))
    .sort((a, b) => a.length - b.length);
  return best;
}

/** Reads the fields that are available on the plan of the zone or account. */
async function liveFields(io: Io, scope: Scope, dataset: string): Promise<FieldList> {
  try {
    const listed = await withHost(io, { closing: io.interrupted() }, ({ api }) =>
      listFields(api, scope, dataset),
    );
    return { dataset, types: typesOf(dataset, listed), complete: true };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const other = scope.kind === "zone" ? "--account" : "--zone";
    throw new UsageError(
      `${scopeName(scope)} has no dataset ${dataset}. Check --dataset and --${scope.kind}, or pass ${other} instead.`,
    );
  }
}

/** @param unknown what to advise for an unknown field, because it may be a new one. */
function refuse(issues: readonly FilterIssue[], unknown = ""): void {
  if (issues.length === 0) return;
  const isUnknown = issues.some(({ path }) => path.at(-1) === "key");
  const sentence = new FilterError(issues).message.replace("?.", "?");
  throw new UsageError([sentence, ...(isUnknown && unknown !== "" ? [unknown] : [])].join(" "));
}
