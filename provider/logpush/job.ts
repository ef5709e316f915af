import { z } from "zod";
import type { BooleanForm } from "../runtime/boolean-form";
import { extraFound, omitAbsent, removedExtra, STAMPS } from "../runtime/members";
import { omitUndefined, isJsonObject, omit, sameJson, type JsonObject } from "../runtime/values";
import { filterMeaning } from "./filter-text";
import { JOB_MEMBERS, type JobArgs } from "./job-args";
import { optionsFromApi, optionsToRequest, unknownOptions, type OutputOptions } from "./output-options";
import { agreesWith, sameDestination } from "./destination-text";

/** A job as Cloudflare holds it, and its two forms: what is sent, and what is recorded. */
export interface Job {
  readonly id: string;
  readonly name: string;
  readonly dataset: string;
  readonly kind: "edge" | undefined;
  /** The answer it came from. */
  readonly raw: JsonObject;
}

export const wireJob = z
  .looseObject({
    id: z.number().int(),
    name: z.string().nullish(),
    dataset: z.string().nullish(),
    kind: z.string().nullish(),
    enabled: z.boolean().nullish(),
    destination_conf: z.string().nullish(),
    filter: z.string().nullish(),
    last_complete: z.string().nullish(),
    last_error: z.string().nullish(),
    error_message: z.string().nullish(),
  })
  .transform((raw): Job => ({
    id: String(raw.id),
    name: raw.name ?? "",
    dataset: raw.dataset ?? "http_requests",
    kind: raw.kind === "edge" ? "edge" : undefined,
    raw,
  }));

/** Whether the job bears what names a job: zone or account, dataset and name; and its kind, which no update changes. */
export function hasSameIdentity({ name, dataset, kind }: JobArgs, job: Job): boolean {
  return job.name === name && job.dataset === dataset && job.kind === kind;
}

/** How a job fares; absent where there is nothing to tell. */
export interface JobHealth {
  readonly lastComplete?: string;
  readonly lastError?: string;
  readonly errorMessage?: string;
}

export function healthOf({ raw }: Job): JobHealth {
  const text = (name: string): string | undefined => {
    const value = raw[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  return omitAbsent({
    lastComplete: text("last_complete"),
    lastError: text("last_error"),
    errorMessage: text("error_message"),
  });
}

/** Members that are sent as they are declared, and what they are where nobody declares them (facts 7.2). */
const SIMPLE = {
  frequency: { name: "frequency", unset: "high", defaults: ["high"] },
  maxUploadBytes: { name: "max_upload_bytes", unset: null, defaults: [0] },
  maxUploadIntervalSeconds: { name: "max_upload_interval_seconds", unset: null, defaults: [0, 30] },
  maxUploadRecords: { name: "max_upload_records", unset: null, defaults: [0, 100_000] },
} as const;
type SimpleMember = keyof typeof SIMPLE;
const SIMPLE_MEMBERS = Object.keys(SIMPLE) as readonly SimpleMember[];

/** Whether the member has been set by somebody; null is as good as missing. */
function isSet(member: SimpleMember, raw: JsonObject): boolean {
  const value = raw[SIMPLE[member].name] ?? undefined;
  return value !== undefined && !(SIMPLE[member].defaults as readonly unknown[]).includes(value);
}

/**
 * A declaration as the service holds it, equal to it where nothing differs. What the service does not give back, or
 * hides, is as declared. `strict` looks at undeclared members too.
 */
export function jobFromApi(
  declared: JobArgs,
  { raw, name }: Job,
  {
    allFields,
    strict = false,
  }: { readonly allFields: readonly string[] | undefined; readonly strict?: boolean },
): JobArgs {
  const shown = raw["destination_conf"];
  const agrees = typeof shown !== "string" || agreesWith(declared.destinationConf, shown);
  const found: Record<string, unknown> = {
    ...omit(declared, ["filter", "outputOptions", ...SIMPLE_MEMBERS]),
    name: raw["name"] === undefined ? declared.name : name,
    enabled: raw["enabled"] ?? declared.enabled,
    destinationConf: agrees ? declared.destinationConf : shown,
    filter: filterFromApi(declared.filter, raw["filter"]),
    outputOptions: outputOptionsFromApi(declared.outputOptions, raw["output_options"], allFields, strict),
  };
  for (const member of SIMPLE_MEMBERS) {
    const own = declared[member];
    if (own !== undefined) found[member] = simpleFromApi(member, own, raw[SIMPLE[member].name]);
    else if (strict && isSet(member, raw)) found[member] = raw[SIMPLE[member].name];
  }
  // Of the arguments' own types, or drift that is only ever shown.
  return omitUndefined({ ...found, ...extraFound(declared.extra, raw) }) as JobArgs;
}

/** Null is the service's word for its default; a member it leaves out tells nothing. */
function simpleFromApi(member: SimpleMember, own: unknown, value: unknown): unknown {
  if (value === undefined) return own;
  if (value !== null) return value;
  return (SIMPLE[member].defaults as readonly unknown[]).includes(own) ? own : undefined;
}

/** A filter of the same meaning is the declared one, however it is written. One that is not given back is kept. */
function filterFromApi(declared: string | undefined, raw: unknown): string | undefined {
  if (raw === undefined) return declared;
  const text = typeof raw === "string" && raw !== "" ? raw : undefined;
  return filterMeaning(text) === filterMeaning(declared) ? declared : text;
}

function outputOptionsFromApi(
  declared: OutputOptions | undefined,
  raw: unknown,
  allFields: readonly string[] | undefined,
  strict: boolean,
): OutputOptions | undefined {
  if (declared !== undefined) return optionsFromApi(declared, raw, allFields);
  const changed = strict ? optionsFromApi({}, raw, undefined) : {};
  return Object.keys(changed).length === 0 ? undefined : changed;
}

interface RequestDetails {
  readonly allFields: readonly string[] | undefined;
  readonly form: BooleanForm;
  /** Sent where the destination is new to the job. */
  readonly token: string | undefined;
}

/** The body of a create: what is declared. */
export function createRequest(
  args: JobArgs,
  { allFields, form, token }: RequestDetails,
): Record<string, unknown> {
  const { outputOptions: options } = args;
  return omitUndefined({
    ...args.extra,
    name: args.name,
    dataset: args.dataset,
    kind: args.kind,
    enabled: args.enabled,
    destination_conf: args.destinationConf,
    ownership_challenge: token,
    filter: args.filter,
    output_options: options === undefined ? undefined : optionsToRequest(options, allFields, form),
    ...Object.fromEntries(SIMPLE_MEMBERS.map((member) => [SIMPLE[member].name, args[member]])),
  });
}

/**
 * The body of an update: the whole job, without what the API does not let change. What was declared before and no longer
 * is, goes to its default; what others set under names we do not know is kept.
 */
export function updateRequest(
  args: JobArgs,
  before: JobArgs,
  { raw }: Job,
  { allFields, form, token }: RequestDetails,
): Record<string, unknown> {
  const { outputOptions: options } = args;
  const unset = before.outputOptions === undefined ? undefined : null;
  const plain = SIMPLE_MEMBERS.map((member): [string, unknown] => {
    const isForgotten = args[member] === undefined && before[member] !== undefined;
    return [SIMPLE[member].name, isForgotten ? SIMPLE[member].unset : args[member]];
  });
  return {
    ...unknownMembers(raw, removedExtra(before.extra, args.extra)),
    ...args.extra,
    name: args.name,
    enabled: args.enabled,
    destination_conf: args.destinationConf,
    filter: args.filter ?? "",
    ...omitUndefined({
      ownership_challenge: token,
      // Cloudflare replaces them as a whole, so all that is to hold is sent.
      output_options:
        options === undefined
          ? unset
          : {
              ...omit(unknownOptions(raw["output_options"]), removedOptions(args, before)),
              ...optionsToRequest(options, allFields, form),
            },
      ...Object.fromEntries(plain),
    }),
  };
}

/** Names of output options that are declared no longer, as far as Cloudflare does not set them to a default we know. */
function removedOptions({ outputOptions: now }: JobArgs, { outputOptions: before }: JobArgs): string[] {
  const isForgotten = before?.fieldNames !== undefined && now?.fieldNames === undefined;
  return [...removedExtra(before?.extra, now?.extra), ...(isForgotten ? ["field_names"] : [])];
}

/** Whether an update has something to do: as far as Cloudflare shows the job by that, else by what is recorded. */
export function differs(
  args: JobArgs,
  before: JobArgs,
  job: Job,
  allFields: readonly string[] | undefined,
): boolean {
  return (
    !sameJson(jobFromApi(args, job, { allFields }), args) ||
    !sameDestination(args.destinationConf, before.destinationConf) ||
    hasHiddenChange(args, before, job) ||
    hasLeftovers(args, before, job) ||
    isReordered(args, before, job)
  );
}

/** Whether something has changed that Cloudflare does not give back: then what is recorded has to tell. */
function hasHiddenChange(args: JobArgs, before: JobArgs, { raw }: Job): boolean {
  const hidden = (name: string): boolean => raw[name] === undefined;
  return (
    (hidden("filter") && filterMeaning(args.filter) !== filterMeaning(before.filter)) ||
    (hidden("name") && args.name !== before.name) ||
    ((raw["enabled"] ?? undefined) === undefined && args.enabled !== before.enabled) ||
    (!isJsonObject(raw["output_options"]) && !sameJson(args.outputOptions, before.outputOptions)) ||
    SIMPLE_MEMBERS.some(
      (member) =>
        !sameJson(args[member], before[member]) &&
        (hidden(SIMPLE[member].name) ||
          // Null stands for each of its defaults, which one of them it is only Cloudflare knows.
          (raw[SIMPLE[member].name] === null && args[member] !== undefined)),
    ) ||
    !sameJson(args.extra, before.extra) ||
    !sameJson(args.outputOptions?.extra, before.outputOptions?.extra)
  );
}

/** Whether something that is declared no longer is still set. */
function hasLeftovers(args: JobArgs, before: JobArgs, { raw }: Job): boolean {
  const isIn = (holder: JsonObject, name: string): boolean => (holder[name] ?? undefined) !== undefined;
  const options = raw["output_options"];
  return (
    SIMPLE_MEMBERS.some(
      (member) => args[member] === undefined && before[member] !== undefined && isSet(member, raw),
    ) ||
    removedExtra(before.extra, args.extra).some((name) => isIn(raw, name)) ||
    (args.outputOptions === undefined
      ? before.outputOptions !== undefined && isIn(raw, "output_options")
      : isJsonObject(options) && removedOptions(args, before).some((name) => isIn(options, name)))
  );
}

/** Whether the author has put the fields into another order, which Cloudflare has not. */
function isReordered(args: JobArgs, before: JobArgs, { raw }: Job): boolean {
  const wanted = args.outputOptions?.fieldNames;
  const options = raw["output_options"];
  if (wanted === undefined || wanted === "all" || !isJsonObject(options)) return false;
  return !sameJson(before.outputOptions?.fieldNames, wanted) && !sameJson(options["field_names"], wanted);
}

function unknownMembers(raw: JsonObject, removed: readonly string[]): Record<string, unknown> {
  const kept = omit(raw, [...JOB_MEMBERS, ...STAMPS, ...removed]);
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== null));
}
