import { DATASETS, documentedDatasets, documentedFields } from "../../logpush/dataset-fields";
import { fieldIssues } from "../../logpush/filter-fields";
import { FilterError, type CheckedFilter, type FilterIssue } from "../../logpush/filter-read";
import { nearest } from "../../basics/nearest";
import { UsageError } from "../../terminal/errors";
import { printToStderr, type Io } from "../../terminal/io";

// Checks the filter against the fields of its dataset, the way the preview of a LogpushJob does.

/** @throws UsageError if the dataset is unknown, or the filter doesn't fit its fields. */
export function checkFields(io: Io, filter: CheckedFilter, dataset: string | undefined): void {
  if (dataset === undefined) {
    refuse(issuesAnywhere(filter), "If the filter is for another dataset, pass --dataset <name>.");
    return;
  }
  const types = documentedFields(dataset);
  if (types !== undefined) {
    refuse(fieldIssues(filter, { dataset, types, complete: true }), NEWER);
  } else if ((DATASETS as readonly string[]).includes(dataset)) {
    printToStderr(
      io,
      `edgeguard: the fields of ${dataset} weren't checked, because this version of edgeguard doesn't list them. The preview of a LogpushJob checks them against the API.`,
    );
  } else {
    const near = nearest(dataset, DATASETS);
    const advice = near === undefined ? `Use one of: ${DATASETS.join(", ")}.` : `Did you mean ${near}?`;
    throw new UsageError(`--dataset: ${dataset} is not a known dataset. ${advice}`);
  }
}

const NEWER = "If the field is newer than this version of edgeguard, update it.";

/** Returns the filter's issues with the dataset that fits it best, for when no dataset is given. */
function issuesAnywhere(filter: CheckedFilter): readonly FilterIssue[] {
  const [best = []] = documentedDatasets()
    .map(([dataset, types]) => fieldIssues(filter, { dataset, types, complete: true }))
    .sort((a, b) => a.length - b.length);
  return best;
}

/** @param unknown what to advise for an unknown field, because it may be a new one. */
function refuse(issues: readonly FilterIssue[], unknown = ""): void {
  if (issues.length === 0) return;
  const isUnknown = issues.some(({ path }) => path.at(-1) === "key");
  const sentence = new FilterError(issues).message.replace("?.", "?");
  throw new UsageError([sentence, ...(isUnknown && unknown !== "" ? [unknown] : [])].join(" "));
}
