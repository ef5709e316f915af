import { z } from "zod";
import { LOGPUSH } from "../limits";
import { accountId, adopt, zoneId } from "../runtime/fields";
import { errorMessages, propertyPath } from "../runtime/inputs";
import type { Rule } from "../runtime/lifecycle";
import { extra } from "../runtime/members";
import { nearest } from "../runtime/nearest";
import { DATASETS, documentedFields, ZONE_DATASETS } from "./dataset-fields";
import { typedDestination } from "./destination-schemes";
import { destinationWarnings, destinationProblems } from "./destination-text";
import { fieldIssues } from "./filter-fields";
import { parseFilter, readFilter, type FilterIssue } from "./filter-read";
import { compileFilter, sizeProblem } from "./filter-text";
import { fieldsInTemplate, outputOptions } from "./output-options";

/** Arguments of a Logpush job: a schema for each, with its canonical form, and rules that look at several. */

/** Members of a job that the API has and we set, or that are its own. */
export const JOB_MEMBERS = [
  "id",
  "name",
  "dataset",
  "destination_conf",
  "ownership_challenge",
  "enabled",
  "kind",
  "filter",
  "frequency",
  "max_upload_bytes",
  "max_upload_interval_seconds",
  "max_upload_records",
  "output_options",
  "last_complete",
  "last_error",
  "error_message",
] as const;

const BUILDER_REASON = "has to be a text, or made by a builder such as destination.s3";

/** A text, or what a builder made; the canonical form is the text. */
const destinationConf = z.unknown().transform((given, ctx): string => {
  const refuse = (message: string, path: PropertyKey[] = []): void =>
    ctx.addIssue({ code: "custom", path, message });
  if (given === undefined) {
    refuse("is required: set destination, or destinationConf as a text");
    return z.NEVER;
  }
  let text: string;
  if (typeof given === "string") {
    text = given.trim();
  } else {
    const typed = typedDestination.safeParse(given, { error: errorMessages(true) });
    for (const issue of typed.error?.issues ?? []) refuse(typedDestinationReason(issue), issue.path);
    if (typed.data === undefined) return z.NEVER;
    text = typed.data;
  }
  const problems = destinationProblems(text);
  for (const problem of problems) refuse(problem);
  return problems.length === 0 ? text : z.NEVER;
});

/** Of a typed destination, without a value of it. */
function typedDestinationReason(issue: z.core.$ZodIssue): string {
  const isOfWhole = issue.code === "invalid_union" || issue.path.length === 0;
  return isOfWhole && issue.code !== "unrecognized_keys" ? BUILDER_REASON : issue.message;
}

/** JSON, or what the builders made; the canonical form is JSON without white space. An empty text is no filter. */
const filter = z
  .union(
    [z.string(), z.looseObject({})],
    "has to be made by the builders, filter.where(…), or be JSON as a text",
  )
  .transform((given, ctx): string | undefined => {
    if (given === "") return undefined;
    const result = readFilter(given);
    if ("filter" in result) return compileFilter(result.filter);
    for (const { path, reason } of result.issues) {
      ctx.addIssue({ code: "custom", path: [...path], message: reason });
    }
    return z.NEVER;
  });

function uploadLimit(
  { MIN, MAX }: { readonly MIN: number; readonly MAX: number },
  unit: string,
): z.ZodType<number, number> {
  return z.number().refine((n) => n === 0 || (Number.isInteger(n) && n >= MIN && n <= MAX), {
    error: ({ input }) =>
      `has to be a whole number of ${unit} from ${MIN} to ${MAX}, or 0 for no limit; it is ${String(input)}`,
  });
}

const boundedString = (most: number): z.ZodType<string, string> =>
  z
    .string()
    .trim()
    .min(1, "is empty")
    .refine((text) => text.length <= most, {
      error: ({ input }) => `is ${String(input).length} characters; the limit is ${most}`,
    });

export const jobArgs = z.object({
  zoneId: zoneId.exactOptional(),
  accountId: accountId.exactOptional(),
  name: boundedString(LOGPUSH.MAX_NAME_CHARACTERS),
  dataset: z
    .string()
    .regex(
      /^[a-z][a-z0-9_]*$/,
      "has to be the name of a dataset, such as http_requests: small letters, digits and _",
    ),
  destinationConf,
  outputOptions: outputOptions.exactOptional(),
  filter: filter.exactOptional(),
  filterChecks: z.enum(["error", "warn"]).exactOptional(),
  enabled: z.boolean().default(true),
  frequency: z.enum(["high", "low"]).exactOptional(),
  maxUploadBytes: uploadLimit(LOGPUSH.UPLOAD_BYTES, "bytes").exactOptional(),
  maxUploadIntervalSeconds: uploadLimit(LOGPUSH.UPLOAD_INTERVAL_SECONDS, "seconds").exactOptional(),
  maxUploadRecords: uploadLimit(LOGPUSH.UPLOAD_RECORDS, "lines").exactOptional(),
  // "" is the API's word for a job that is not of the other kind: the same as to say nothing.
  kind: z
    .enum(["", "edge"])
    .transform((kind) => (kind === "" ? undefined : kind))
    .exactOptional(),
  ownershipChallenge: boundedString(LOGPUSH.MAX_CHALLENGE_CHARACTERS).exactOptional(),
  adopt: adopt.exactOptional(),
  extra: extra(JOB_MEMBERS).exactOptional(),
});

export type JobArgs = z.output<typeof jobArgs>;

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
      const problem = sizeProblem(parseFilter(args.filter));
      return problem === undefined ? undefined : filterFinding(args, [{ path: [], reason: problem }]);
    },
  },
  {
    needs: ["name", "dataset", "filter", "filterChecks"],
    check: (args) => {
      const types = documentedFields(args.dataset);
      if (args.filter === undefined || types === undefined) return undefined;
      const fields = { dataset: args.dataset, types, complete: false };
      return filterFinding(args, fieldIssues(parseFilter(args.filter), fields));
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
          warning: `${jobLabel(name)}: this version does not know the dataset ${JSON.stringify(dataset)}${near === undefined ? "." : `; did you mean ${JSON.stringify(near)}?`}`,
        };
      }
      const ofZone = ZONE_DATASETS.includes(dataset);
      if (ofZone === (zoneId !== undefined)) return undefined;
      return {
        warning: `${jobLabel(name)}: ${dataset} was last seen as a dataset of ${ofZone ? "zones" : "accounts"}; set ${ofZone ? "zoneId" : "accountId"} instead if the service refuses it.`,
      };
    },
  },
  {
    needs: ["name"],
    check: ({ name }) =>
      /^[a-zA-Z0-9.-]*$/.test(name)
        ? undefined
        : {
            warning: `${jobLabel(name)}: older versions of the service take letters, digits, "." and "-" in a name only.`,
          },
  },
  {
    needs: ["name", "destinationConf"],
    check: ({ name, destinationConf }) => {
      const doubts = destinationWarnings(destinationConf);
      return doubts.length === 0
        ? undefined
        : { warning: `${jobLabel(name)}: destinationConf ${doubts.join("; it ")}. It is sent as it is.` };
    },
  },
  {
    needs: ["name", "outputOptions"],
    check: ({ name, outputOptions }) =>
      outputOptions?.sampleRate === 0
        ? { warning: `${jobLabel(name)}: outputOptions.sampleRate is 0: it sends no line at all.` }
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
            warning: `${jobLabel(name)}: outputOptions.recordTemplate uses ${absent.join(", ")}, which fieldNames does not have: the service writes null there.`,
          };
    },
  },
];

/** The job as messages call it. */
export function jobLabel(name: string): string {
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
    ? { warning: `${jobLabel(name)}: ${at(first)} ${reason}` }
    : { property: at(first), reason };
}
