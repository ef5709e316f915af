import { z } from "zod";
import { LOGPUSH } from "../limits";
import { accountId, adopt, zoneId } from "../runtime/fields";
import { extra } from "../runtime/members";
import { readFilter } from "./filter-read";
import { compileFilter } from "./filter-text";
import { outputOptions } from "./output-options";
import { destinationProblems } from "./destination-text";
import { typedDestination } from "./destination-schemes";

/** Schemas of a log-push job's arguments, each with its canonical form. */

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

const BY_BUILDER = "has to be a text, or made by a builder such as destination.s3";

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
    const typed = typedDestination.safeParse(given);
    for (const issue of typed.error?.issues ?? []) refuse(sentenceOf(issue), issue.path);
    if (typed.data === undefined) return z.NEVER;
    text = typed.data;
  }
  const problems = destinationProblems(text);
  for (const problem of problems) refuse(problem);
  return problems.length === 0 ? text : z.NEVER;
});

/** Of a typed destination, without a value of it. */
function sentenceOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_union" || issue.path.length === 0) {
    return issue.code === "unrecognized_keys"
      ? `does not know ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}`
      : BY_BUILDER;
  }
  return issue.message;
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

function measured(
  { MIN, MAX }: { readonly MIN: number; readonly MAX: number },
  unit: string,
): z.ZodType<number, number> {
  return z.number().refine((n) => n === 0 || (Number.isInteger(n) && n >= MIN && n <= MAX), {
    error: ({ input }) =>
      `has to be a whole number of ${unit} from ${MIN} to ${MAX}, or 0 for no limit; it is ${String(input)}`,
  });
}

const boundedText = (most: number): z.ZodType<string, string> =>
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
  name: boundedText(LOGPUSH.MAX_NAME_CHARACTERS),
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
  maxUploadBytes: measured(LOGPUSH.UPLOAD_BYTES, "bytes").exactOptional(),
  maxUploadIntervalSeconds: measured(LOGPUSH.UPLOAD_INTERVAL_SECONDS, "seconds").exactOptional(),
  maxUploadRecords: measured(LOGPUSH.UPLOAD_RECORDS, "lines").exactOptional(),
  // "" is the API's word for a job that is not of the other kind: the same as to say nothing.
  kind: z
    .enum(["", "edge"])
    .transform((kind) => (kind === "" ? undefined : kind))
    .exactOptional(),
  ownershipChallenge: boundedText(LOGPUSH.MAX_CHALLENGE_CHARACTERS).exactOptional(),
  adopt: adopt.exactOptional(),
  extra: extra(JOB_MEMBERS).exactOptional(),
});

export type JobArgs = z.output<typeof jobArgs>;
