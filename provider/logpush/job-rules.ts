import type { Rule } from "../runtime/lifecycle";
import { propertyPath } from "../runtime/inputs";
import { nearest } from "../runtime/nearest";
import { DATASETS, documentedFields, ZONE_DATASETS } from "./dataset-fields";
import { fieldIssues } from "./filter-fields";
import { mustRead, type FilterIssue } from "./filter-read";
import { sizeProblem } from "./filter-text";
import type { JobArgs } from "./job-args";
import { fieldsInTemplate } from "./output-options";

/** What can be said of a job's arguments together, without asking the service. */
export const jobRules: readonly Rule<JobArgs>[] = [
  {
    needs: [],
    check: (_args, given) => {
      const set = ["zoneId", "accountId"].filter((name) => given[name] !== undefined && given[name] !== null);
      if (set.length === 1) return undefined;
      const which = set.length === 0 ? "neither is set" : "both are set";
      return {
        property: set[1] ?? "zoneId",
        reason: `exactly one of zoneId and accountId says whose lines are pushed; ${which}`,
      };
    },
  },
  {
    needs: ["name", "filter", "filterChecks"],
    check: (args) => {
      if (args.filter === undefined) return undefined;
      const problem = sizeProblem(mustRead(args.filter));
      return problem === undefined ? undefined : filterFinding(args, [{ path: [], reason: problem }]);
    },
  },
  {
    needs: ["name", "dataset", "filter", "filterChecks"],
    check: (args) => {
      const types = documentedFields(args.dataset);
      if (args.filter === undefined || types === undefined) return undefined;
      const fields = { dataset: args.dataset, types, complete: false };
      return filterFinding(args, fieldIssues(mustRead(args.filter), fields));
    },
  },
  {
    needs: ["kind", "dataset"],
    check: ({ kind, dataset }) =>
      kind === "edge" && dataset !== "http_requests"
        ? {
            property: "kind",
            reason: `is "edge", which is for the dataset http_requests only; this is ${dataset}`,
          }
        : undefined,
  },
  {
    needs: ["outputOptions", "dataset"],
    check: ({ outputOptions, dataset }) =>
      outputOptions?.mergeSubrequests === true && dataset !== "http_requests"
        ? {
            property: "outputOptions.mergeSubrequests",
            reason: `is true, which is for the dataset http_requests only; this is ${dataset}`,
          }
        : undefined,
  },
  {
    needs: ["name", "dataset", "zoneId", "accountId"],
    check: ({ name, dataset, zoneId }) => {
      if (!(DATASETS as readonly string[]).includes(dataset)) {
        const near = nearest(dataset, DATASETS);
        return {
          warning: `${job(name)}: this version does not know the dataset ${JSON.stringify(dataset)}${near === undefined ? "." : `; did you mean ${JSON.stringify(near)}?`}`,
        };
      }
      const ofZone = ZONE_DATASETS.includes(dataset);
      if (ofZone === (zoneId !== undefined)) return undefined;
      return {
        warning: `${job(name)}: ${dataset} was last seen as a dataset of ${ofZone ? "zones" : "accounts"}; set ${ofZone ? "zoneId" : "accountId"} instead if the service refuses it.`,
      };
    },
  },
  {
    needs: ["name"],
    check: ({ name }) =>
      /^[a-zA-Z0-9.-]*$/.test(name)
        ? undefined
        : {
            warning: `${job(name)}: older versions of the service take letters, digits, "." and "-" in a name only.`,
          },
  },
  {
    needs: ["name", "outputOptions"],
    check: ({ name, outputOptions }) =>
      outputOptions?.sampleRate === 0
        ? { warning: `${job(name)}: outputOptions.sampleRate is 0: it sends no line at all.` }
        : undefined,
  },
  {
    needs: ["name", "outputOptions"],
    check: ({ name, outputOptions }) => {
      const { recordTemplate, fieldNames } = outputOptions ?? {};
      if (recordTemplate === undefined || fieldNames === undefined || fieldNames === "all") return undefined;
      const absent = fieldsInTemplate(recordTemplate).filter((field) => !fieldNames.includes(field));
      return absent.length === 0
        ? undefined
        : {
            warning: `${job(name)}: outputOptions.recordTemplate uses ${absent.join(", ")}, which fieldNames does not have: the service writes null there.`,
          };
    },
  },
];

export function job(name: string): string {
  return `LogpushJob ${JSON.stringify(name)}`;
}

/** All that is wrong with a filter as one finding: a refusal at its first place, or by wish a warning. */
export function filterFinding(
  { name, filterChecks = "error" }: Pick<JobArgs, "name" | "filterChecks">,
  issues: readonly FilterIssue[],
): { readonly property: string; readonly reason: string } | { readonly warning: string } | undefined {
  const [first, ...more] = issues;
  if (first === undefined) return undefined;
  const at = ({ path }: FilterIssue): string => propertyPath(["filter", ...path]);
  const others = more.map((issue) => `; ${at(issue)} ${issue.reason.replace(/\.$/, "")}`).join("");
  const reason = others === "" ? first.reason : `${first.reason.replace(/\.$/, "")}${others}`;
  return filterChecks === "warn"
    ? { warning: `${job(name)}: ${at(first)} ${reason}` }
    : { property: at(first), reason };
}
