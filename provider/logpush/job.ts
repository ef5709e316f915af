import { z } from "zod";
import type { BooleanForm } from "../runtime/boolean-form";
import { extraFound, omitAbsent, removedExtra, STAMPS } from "../runtime/members";
import { omitUndefined, isJsonObject, omit, sameJson, type JsonObject } from "../runtime/values";
import { filterMeaning } from "./filter-text";
import { JOB_MEMBERS, type JobArgs } from "./job-args";
import { optionsFromApi, optionsToRequest, unknownOptions, type OutputOptions } from "./output-options";
import { agreesWith, sameDestination } from "./destination-text";

/** Converts a job between the API's response, the request that's sent and the arguments that are recorded. */
export interface Job {
  readonly id: string;
  readonly name: string;
  readonly dataset: string;
  readonly kind: "edge" | undefined;
  /** The response that the job was read from. */
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

/** Whether an existing job has the declared name, dataset and kind. */
export function hasSameIdentity({ name, dataset, kind }: JobArgs, job: Job): boolean {
  return job.name === name && job.dataset === dataset && job.kind === kind;
}

/** The health of a job, as Cloudflare reports it. Properties without a value are absent. */
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

/** Fields that are sent without conversion. Each has the value that resets it and the values that mean the default. */
const SIMPLE = {
  frequency: { name: "frequency", unset: "high", defaults: ["high"] },
  maxUploadBytes: { name: "max_upload_bytes", unset: null, defaults: [0] },
  maxUploadIntervalSeconds: { name: "max_upload_interval_seconds", unset: null, defaults: [0, 30] },
  maxUploadRecords: { name: "max_upload_records", unset: null, defaults: [0, 100_000] },
} as const;
type SimpleMember = keyof typeof SIMPLE;
const SIMPLE_MEMBERS = Object.keys(SIMPLE) as readonly SimpleMember[];

/** Whether the field has a value other than its default. Null counts as the default. */
function isSet(member: SimpleMember, raw: JsonObject): boolean {
  const value = raw[SIMPLE[member].name] ?? undefined;
  return value !== undefined && !(SIMPLE[member].defaults as readonly unknown[]).includes(value);
}

/**
 * Converts the job to arguments, which equal the declared ones if nothing differs. Values that the API hides or doesn't
 * return are taken from the declaration. If `strict` is set, undeclared fields are compared as well.
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
  // Drift may have any type; it is only shown.
  return omitUndefined({ ...found, ...extraFound(declared.extra, raw) }) as JobArgs;
}

/**
 * Converts a field to its argument. Null means the default. If the API omits the field, returns the declared value.
 */
function simpleFromApi(member: SimpleMember, own: unknown, value: unknown): unknown {
  if (value === undefined) return own;
  if (value !== null) return value;
  return (SIMPLE[member].defaults as readonly unknown[]).includes(own) ? own : undefined;
}

/** Returns the declared filter if the existing one has the same meaning or isn't returned. */
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
  /** The ownership token to send. Set if the destination is new to the job. */
  readonly token: string | undefined;
}

/** Returns the body of `POST /zones/{zone_id}/logpush/jobs`: everything that's declared. */
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
 * Returns the body of `PUT /zones/{zone_id}/logpush/jobs/{job_id}`: the whole job, except fields that can't change.
 * Fields that are no longer declared are reset to their defaults. Unknown fields that others set are kept.
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
    const isRemoved = args[member] === undefined && before[member] !== undefined;
    return [SIMPLE[member].name, isRemoved ? SIMPLE[member].unset : args[member]];
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
      // Cloudflare replaces the options as a whole, so all of them are sent.
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

/** Returns the output options that are no longer declared and have no known default. */
function removedOptions({ outputOptions: now }: JobArgs, { outputOptions: before }: JobArgs): string[] {
  const isRemoved = before?.fieldNames !== undefined && now?.fieldNames === undefined;
  return [...removedExtra(before?.extra, now?.extra), ...(isRemoved ? ["field_names"] : [])];
}

/**
 * Whether an update has anything to do. Fields that the API shows are compared with the live job, the others with the
 * recorded job.
 */
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

/** Whether the program changed something that the API doesn't return. */
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
          // Null may stand for any of the defaults.
          (raw[SIMPLE[member].name] === null && args[member] !== undefined)),
    ) ||
    !sameJson(args.extra, before.extra) ||
    !sameJson(args.outputOptions?.extra, before.outputOptions?.extra)
  );
}

/** Whether the live job still has a value that the program no longer declares. */
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

/** Whether the program changed the order of the fields and Cloudflare doesn't have the new order yet. */
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
