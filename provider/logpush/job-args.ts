import { z } from "zod";
import { LOGPUSH } from "../limits/index";
import { ID, adopt } from "../runtime/fields";
import { errorMessages } from "../basics/schemas";
import type { Rule } from "../runtime/lifecycle";
import { EXTRA } from "../runtime/extra";
import { nearest } from "../basics/nearest";
import { omit, type JsonObject } from "../basics/json";
import { DATASETS, documentedFields, isDocumentedFor } from "./dataset-fields";
import { parseDestination, typedDestination } from "./destination-schemes";
import { destinationProblems } from "./destination-text";
import { fieldIssues } from "./filter-fields";
import { issuePath, issueText, parseFilter, readFilter, withoutStop, type FilterIssue } from "./filter-read";
import { compileFilter, sizeProblem } from "./filter-text";
import { fieldsInTemplate, outputOptions } from "./output-options";

/**
 * The schemas of a Logpush job's arguments, with their canonical forms, and the rules that compare several arguments.
 */

/** The fields of a job in the API that this package knows. */
export const JOB_MEMBERS = [
  "id",
  "name",
  "dataset",
  "destination_conf",
  "ownership_challenge",
  "enabled",
  "kind",
  "filter",
  "filter_attack_traffic",
  "frequency",
  "max_upload_bytes",
  "max_upload_interval_seconds",
  "max_upload_records",
  "output_options",
  "last_complete",
  "last_error",
  "error_message",
  "transformer_id",
] as const;

const BUILDER_REASON =
  "must come from a builder such as destination.s3(…). For a plain string, use destinationConf instead";

/** A destination: a string, or what a builder returned. The canonical form is the string. */
const destinationConf = z.unknown().transform((given, ctx): string => {
  const refuse = (message: string, path: PropertyKey[] = []): void =>
    ctx.addIssue({ code: "custom", path, message });
  if (given === undefined) {
    refuse("is required. Set destination, or destinationConf for a plain string");
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
  const problems = destinationProblems(text, typeof given !== "string");
  for (const { member, reason } of problems) refuse(reason, member === undefined ? [] : [member]);
  return problems.length === 0 ? text : z.NEVER;
});

/** Returns what's wrong with a builder's destination, without quoting any of its values. */
function typedDestinationReason(issue: z.core.$ZodIssue): string {
  const isOfWhole = issue.code === "invalid_union" || issue.path.length === 0;
  return isOfWhole && issue.code !== "unrecognized_keys" ? BUILDER_REASON : issue.message;
}

/**
 * Returns the name of the argument that the program set. The class merges `destination` (from a builder) and
 * `destinationConf` (a string) into one argument.
 */
export function destinationName(given: JsonObject): "destination" | "destinationConf" {
  return typeof given["destinationConf"] === "string" ? "destinationConf" : "destination";
}

/**
 * A filter: JSON, or what the builders returned. The canonical form is JSON without whitespace. An empty string means
 * no filter.
 */
const filter = z
  .union([z.string(), z.looseObject({})], "must come from filter.where(…) or be a JSON string")
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
      `must be a whole number of ${unit} from ${MIN} to ${MAX}, or 0 for no limit, not ${String(input)}`,
  });
}

/** A text that isn't empty, without whitespace around it. */
export function boundedString(
  most: number,
  unit: "characters" | "bytes" = "characters",
): z.ZodType<string, string> {
  const sizeOf = (text: string): number => (unit === "bytes" ? Buffer.byteLength(text) : text.length);
  return z
    .string()
    .trim()
    .min(1, "must not be empty")
    .refine((text) => sizeOf(text) <= most, {
      error: ({ input }) => `must be at most ${most} ${unit}, not ${sizeOf(String(input))}`,
    });
}

/** The schema of a dataset's name. Unknown names are valid, because Cloudflare may add datasets. */
export const datasetName = z.string().regex(/^[a-z][a-z0-9_]*$/, {
  error: ({ input }) =>
    `${JSON.stringify(input)} is not the name of a dataset. Use lowercase letters, digits and _, as in http_requests`,
});

export const jobArgs = z.object({
  zoneId: ID.zone.exactOptional(),
  accountId: ID.account.exactOptional(),
  name: boundedString(LOGPUSH.MAX_NAME_CHARACTERS),
  dataset: datasetName,
  destinationConf,
  outputOptions: outputOptions.exactOptional(),
  filter: filter.exactOptional(),
  filterChecks: z.enum(["error", "warn"]).exactOptional(),
  enabled: z.boolean().default(true),
  frequency: z.enum(["high", "low"]).exactOptional(),
  maxUploadBytes: uploadLimit(LOGPUSH.UPLOAD_BYTES, "bytes").exactOptional(),
  maxUploadIntervalSeconds: uploadLimit(LOGPUSH.UPLOAD_INTERVAL_SECONDS, "seconds").exactOptional(),
  maxUploadRecords: uploadLimit(LOGPUSH.UPLOAD_RECORDS, "lines").exactOptional(),
  filterAttackTraffic: z.boolean().exactOptional(),
  // The ID of a resource is a string.
  transformerId: z
    .preprocess((id) => (typeof id === "string" && /^\d+$/.test(id) ? Number(id) : id), z.int().min(1))
    .exactOptional(),
  // "" has the same meaning as leaving it out.
  kind: z
    .enum(["", "edge"])
    .transform((kind) => (kind === "" ? undefined : kind))
    .exactOptional(),
  ownershipChallenge: boundedString(LOGPUSH.MAX_CHALLENGE_CHARACTERS).exactOptional(),
  adopt: adopt.exactOptional(),
  extra: EXTRA.schema(JOB_MEMBERS).exactOptional(),
});

export type JobArgs = z.output<typeof jobArgs>;

/** The datasets that `filterAttackTraffic` works with. */
const ATTACK_DATASETS: readonly string[] = ["http_requests", "firewall_events", "network_analytics_logs"];

/** Checks that compare several arguments and need no request. */
export const jobRules: readonly Rule<JobArgs>[] = [
  {
    needs: [],
    check: (_args, given) => {
      const set = ["zoneId", "accountId"].filter((name) => given[name] !== undefined && given[name] !== null);
      if (set.length === 1) return undefined;
      const which = set.length === 0 ? "neither is set" : "both are set";
      return { property: set[1] ?? "zoneId", reason: `set either zoneId or accountId; ${which}` };
    },
  },
  {
    needs: ["name", "filter", "filterChecks"],
    check: (args) => {
      if (args.filter === undefined) return undefined;
      const problem = sizeProblem(parseFilter(args.filter));
      if (problem === undefined) return undefined;
      const advice = args.filterChecks === "warn" ? "" : ' To send it anyway, set filterChecks: "warn".';
      return filterFinding(args, [{ path: [], reason: `${problem}${advice}` }]);
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
  onlyWith("kind", ({ kind, dataset }) => kind === "edge" && datasetOtherThan(["http_requests"], dataset)),
  onlyWith(
    "outputOptions.mergeSubrequests",
    ({ outputOptions, accountId, dataset }) =>
      outputOptions?.mergeSubrequests === true &&
      (accountId === undefined
        ? datasetOtherThan(["http_requests"], dataset)
        : ["for zones", "set zoneId instead of accountId"]),
    ["accountId", "dataset"],
  ),
  onlyWith(
    "filterAttackTraffic",
    ({ filterAttackTraffic, dataset }) =>
      filterAttackTraffic === true && datasetOtherThan(ATTACK_DATASETS, dataset),
  ),
  onlyWith(
    "transformerId",
    ({ transformerId, outputOptions }) =>
      transformerId !== undefined &&
      outputOptions?.outputType === "csv" && ['with outputType "ndjson", not "csv"', "change outputType"],
    ["outputOptions"],
  ),
  warnIf(["destinationConf", "outputOptions"], ({ destinationConf, outputOptions = {} }) => {
    const formats = ["fieldNames", "sampleRate", "timestampFormat", "cve202144228", "stringifyObject"];
    if (!destinationConf.startsWith("bq:") || outputOptions.stringifyObject === true) return undefined;
    const [format] = Object.keys(omit({ ...outputOptions }, formats));
    return (
      format !== undefined &&
      `BigQuery may reject log fields that are objects, because outputOptions sets ${format}. Set outputOptions.stringifyObject to true.`
    );
  }),
  warnIf(["dataset", "zoneId", "accountId"], ({ dataset, zoneId }) => {
    const isDocumented = isDocumentedFor(dataset, zoneId === undefined ? "account" : "zone");
    if (isDocumented === undefined) {
      const near = nearest(dataset, DATASETS);
      return `dataset ${JSON.stringify(dataset)} is not known to this version; sending it unchecked.${near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`}`;
    }
    const [documented, own, other] =
      zoneId === undefined
        ? (["zones", "accountId", "zoneId"] as const)
        : (["accounts", "zoneId", "accountId"] as const);
    return (
      !isDocumented &&
      `Cloudflare may reject dataset ${dataset}, which it documents for ${documented}. If it does, set ${other} instead of ${own}.`
    );
  }),
  warnIf(
    [],
    ({ name }) =>
      !/^[a-zA-Z0-9.-]*$/.test(name) &&
      'older versions of the API reject this name. They accept only letters, digits, "." and "-".',
  ),
  warnIf(
    ["destinationConf"],
    ({ destinationConf }) =>
      parseDestination(destinationConf) === undefined &&
      "the destination's scheme is not known to this version; sending the destination unchecked. All of it is secret, and any change of it counts as another location.",
  ),
  warnIf(["outputOptions"], ({ outputOptions: { recordTemplate, fieldNames } = {} }) => {
    if (recordTemplate === undefined || fieldNames === undefined || fieldNames === "all") return undefined;
    const absent = fieldsInTemplate(recordTemplate).filter((field) => !fieldNames.includes(field));
    return (
      absent.length > 0 &&
      `Cloudflare will write null for ${absent.join(", ")}, which outputOptions.recordTemplate uses but fieldNames doesn't list.`
    );
  }),
];

/** Refuses an argument that works only with other arguments, in words: with which, and what else to do. */
function onlyWith(
  property: string,
  conflict: (args: JobArgs) => readonly [works: string, advice: string] | false | undefined,
  more: Rule<JobArgs>["needs"] = ["dataset"],
): Rule<JobArgs> {
  const [argument, member = argument] = property.split(".") as [keyof JobArgs, string?];
  return {
    needs: [argument, ...more],
    check: (args) => {
      const found = conflict(args) || undefined;
      return found && { property, reason: `works only ${found[0]}. Remove ${member}, or ${found[1]}` };
    },
  };
}

function datasetOtherThan(allowed: readonly string[], dataset: string): [string, string] | undefined {
  return allowed.includes(dataset)
    ? undefined
    : [`with dataset ${allowed.join(", ")}, not ${dataset}`, "change the dataset"];
}

/** Warns about a job, if there's something to say. */
function warnIf(
  more: Rule<JobArgs>["needs"],
  say: (args: JobArgs) => string | false | undefined,
): Rule<JobArgs> {
  return {
    needs: ["name", ...more],
    quotes: more.filter((name) => name !== "destinationConf"), // It's always secret, and never quoted.
    check: (args) => {
      const text = say(args) || undefined;
      return text === undefined ? undefined : { warning: `${jobLabel(args.name)}: ${text}` };
    },
  };
}

/**
 * Returns a default name that differs between programs and stacks and contains only characters that every version of
 * the API accepts.
 */
export function defaultName({ project, stack, name }: Record<"project" | "stack" | "name", string>): string {
  return `${project}-${stack}-${name}`.replace(/[^a-zA-Z0-9.-]/g, "-");
}

/** Returns the job's name for messages, such as `LogpushJob "requests"`. */
export function jobLabel(name: string): string {
  return `LogpushJob ${JSON.stringify(name)}`;
}

/**
 * Reports all problems of a filter at once: as a failure at the path of the first one, or as a warning if
 * `filterChecks` is `"warn"`.
 */
export function filterFinding(
  { name, filterChecks = "error" }: Pick<JobArgs, "name" | "filterChecks">,
  issues: readonly FilterIssue[],
): { readonly property: string; readonly reason: string } | { readonly warning: string } | undefined {
  const [first, ...more] = issues;
  if (first === undefined) return undefined;
  const reason = [first.reason, ...more.map(issueText)].map(withoutStop).join("; ");
  return filterChecks === "warn"
    ? {
        warning: `${jobLabel(name)}: Cloudflare may reject the filter, which is sent as written: ${issueText({ ...first, reason })}.`,
      }
    : { property: issuePath(first), reason };
}
