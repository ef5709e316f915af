import { z } from "zod";
import type { BooleanForm } from "../runtime/boolean-form";
import type { Scope } from "../runtime/composite-id";
import { EXTRA } from "../runtime/extra";
import { membersInside } from "../runtime/unmanaged";
import { omitAbsent, omit, pick, sameJson, type JsonObject } from "../basics/json";
import { filterMeaning } from "./filter-text";
import { JOB_MEMBERS, type JobArgs } from "./job-args";
import {
  listedFields,
  optionsFromApi,
  optionsToRequest,
  unknownOptions,
  type OutputOptions,
} from "./output-options";
import { agreesWith, sameDestination } from "./destination-text";

/** Converts a job between the API's response, the request that's sent and the arguments that are recorded. */
export interface Job {
  readonly id: string;
  readonly name: string;
  readonly dataset: string;
  readonly kind: "edge" | undefined;
  readonly enabled: boolean | undefined;
  /** Empty if the API doesn't return it. */
  readonly destination: string;
  /** Empty if there is none, and undefined if the API doesn't return it. */
  readonly filter: string | undefined;
  readonly health: JobHealth;
  /** The response that the job was read from. */
  readonly raw: JsonObject;
}

/** The health of a job, as Cloudflare reports it. Properties without a value are absent. */
export interface JobHealth {
  readonly lastComplete?: string;
  readonly lastError?: string;
  readonly errorMessage?: string;
}

const healthText = z
  .string()
  .nullish()
  .transform((text) => (text === "" ? undefined : text));

export const wireJob = z
  .looseObject({
    id: z.number().int(),
    name: z.string().nullish(),
    dataset: z.string().nullish(),
    kind: z.string().nullish(),
    enabled: z.boolean().nullish(),
    destination_conf: z.string().nullish(),
    filter: z.string().nullish(),
    last_complete: healthText,
    last_error: healthText,
    error_message: healthText,
  })
  .transform((raw): Job => ({
    id: String(raw.id),
    name: raw.name ?? "",
    dataset: raw.dataset ?? "http_requests",
    kind: raw.kind === "edge" ? "edge" : undefined,
    enabled: raw.enabled ?? undefined,
    destination: raw.destination_conf ?? "",
    filter: raw.filter === null ? "" : raw.filter,
    health: omitAbsent({
      lastComplete: raw.last_complete,
      lastError: raw.last_error,
      errorMessage: raw.error_message,
    }),
    raw,
  }));

/** Returns the members of the job and of its output options that no argument sets. */
export function unmanagedOf({ outputOptions }: JobArgs, { raw }: Job): JsonObject {
  const options = omit(unknownOptions(raw["output_options"]), Object.keys(outputOptions?.extra ?? {}));
  return { ...omit(raw, JOB_MEMBERS), ...membersInside("output_options", options) };
}

/** Whether an existing job has the declared name, dataset and kind. */
export function hasSameIdentity({ name, dataset, kind }: JobArgs, job: Job): boolean {
  return job.name === name && job.dataset === dataset && job.kind === kind;
}

/** Fields that are sent without conversion. Each has the value that resets it and the values that mean the default. */
const SIMPLE = {
  frequency: { name: "frequency", unset: "high", defaults: ["high"] },
  maxUploadBytes: { name: "max_upload_bytes", unset: null, defaults: [0] },
  maxUploadIntervalSeconds: { name: "max_upload_interval_seconds", unset: null, defaults: [0, 30] },
  maxUploadRecords: { name: "max_upload_records", unset: null, defaults: [0, 100_000] },
  filterAttackTraffic: { name: "filter_attack_traffic", unset: false, defaults: [false] },
  transformerId: { name: "transformer_id", unset: null, defaults: [] },
} as const;
/** What leaves log lines out. It's compared and reset even if it was never declared. */
const LEAVES_OUT: readonly string[] = ["filterAttackTraffic", "transformerId"];
type SimpleMember = keyof typeof SIMPLE;
/** The arguments that are sent without conversion. */
export const SIMPLE_MEMBERS = Object.keys(SIMPLE) as readonly SimpleMember[];

/** Whether the field has a value other than its default. Null counts as the default. */
function isSet(member: SimpleMember, raw: JsonObject): boolean {
  const value = raw[SIMPLE[member].name] ?? undefined;
  return value !== undefined && !(SIMPLE[member].defaults as readonly unknown[]).includes(value);
}

/**
 * Converts the job to arguments, which equal the declared ones if nothing differs. Values that the API hides or doesn't
 * return are taken from the declaration. If `strict` is set, undeclared fields are compared as well, and what the API
 * doesn't return isn't set, except for the filter.
 */
export function jobFromApi(
  declared: JobArgs,
  { raw, name, enabled, destination, filter }: Job,
  {
    allFields,
    strict = false,
  }: { readonly allFields: readonly string[] | undefined; readonly strict?: boolean },
): JobArgs {
  const agrees = agreesWith(declared.destinationConf, destination);
  const shown = (member: string): unknown => (strict ? (raw[member] ?? null) : raw[member]);
  const found: Record<string, unknown> = {
    ...omit(declared, ["filter", "outputOptions", ...SIMPLE_MEMBERS]),
    name: raw["name"] === undefined ? declared.name : name,
    enabled: enabled ?? declared.enabled,
    destinationConf: agrees ? declared.destinationConf : destination,
    filter: filterFromApi(declared.filter, filter),
    outputOptions: outputOptionsFromApi(declared.outputOptions, shown("output_options"), allFields, strict),
  };
  for (const member of SIMPLE_MEMBERS) {
    const own = declared[member];
    if (own !== undefined) found[member] = simpleFromApi(member, own, shown(SIMPLE[member].name));
    else if ((strict || LEAVES_OUT.includes(member)) && isSet(member, raw))
      found[member] = raw[SIMPLE[member].name];
  }
  // Drift may have any type; it is only shown.
  return omit({ ...found, ...EXTRA.found(declared.extra, raw) }) as JobArgs;
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
function filterFromApi(declared: string | undefined, shown: string | undefined): string | undefined {
  if (shown === undefined) return declared;
  const filter = shown === "" ? undefined : shown;
  return filterMeaning(filter) === filterMeaning(declared) ? declared : filter;
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
  return omit({
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
 * Fields that are no longer declared are reset to their defaults. What others set that was never declared is kept: unknown
 * fields, and the names of the logged fields.
 */
export function updateRequest(
  args: JobArgs,
  before: JobArgs,
  { raw }: Job,
  { allFields, form, token }: RequestDetails,
): Record<string, unknown> {
  const { outputOptions: options } = args;
  const isNoneOfOurs = options?.fieldNames === undefined && before.outputOptions?.fieldNames === undefined;
  const field_names = isNoneOfOurs ? listedFields(raw["output_options"]) : undefined;
  const plain = SIMPLE_MEMBERS.map((member): [string, unknown] => {
    const { name, unset } = SIMPLE[member];
    const isOwn = before[member] !== undefined || (LEAVES_OUT.includes(member) && isSet(member, raw));
    return [name, args[member] ?? (isOwn ? unset : undefined)];
  });
  return {
    ...unknownMembers(raw, EXTRA.removed(before.extra, args.extra)),
    ...args.extra,
    name: args.name,
    enabled: args.enabled,
    destination_conf: args.destinationConf,
    filter: args.filter ?? "",
    ...omit({
      ownership_challenge: token,
      // Cloudflare replaces the options as a whole, so all of them are sent.
      output_options:
        options === undefined
          ? before.outputOptions && (field_names === undefined ? null : { field_names })
          : {
              ...omitAbsent({ field_names }),
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
  return [...EXTRA.removed(before?.extra, now?.extra), ...(isRemoved ? ["field_names"] : [])];
}

/**
 * Whether an update has anything to send: the live job isn't as declared, or the program changed something since,
 * because the API doesn't return everything.
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
    !sameJson(sentArgs(args), sentArgs(before))
  );
}

/** Returns the arguments that a request contains, other than the destination. */
function sentArgs(args: JobArgs): JsonObject {
  const { name, enabled, outputOptions, extra } = args;
  const filter = filterMeaning(args.filter);
  return omit({ name, enabled, outputOptions, extra, filter, ...pick(args, SIMPLE_MEMBERS) });
}

/**
 * Converts an existing job to the arguments that declare it, without defaults. The destination is empty if Cloudflare
 * doesn't return it.
 */
export function existingJob(scope: Scope, job: Job): JobArgs {
  const { raw, name, dataset, kind, enabled = false, destination, filter = "" } = job;
  const fieldNames = listedFields(raw["output_options"]);
  const least = {
    ...(scope.kind === "zone" ? { zoneId: scope.id } : { accountId: scope.id }),
    name,
    dataset,
    ...(kind === undefined ? {} : { kind }),
    destinationConf: destination,
    enabled,
    ...(filter === "" ? {} : { filter }),
    ...(fieldNames === undefined ? {} : { outputOptions: { fieldNames } }),
  } satisfies JobArgs;
  return jobFromApi(least, job, { allFields: undefined, strict: true });
}

function unknownMembers(raw: JsonObject, removed: readonly string[]): Record<string, unknown> {
  const kept = omit(raw, [...JOB_MEMBERS, ...EXTRA.stamps, ...removed]);
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== null));
}
