import { z } from "zod";
import { Redactor } from "../api/redact";
import type { Dataset, FieldType } from "./dataset-fields";
import { healthOf, type Job } from "./job";
import { listFields, listJobs, scopeOf, type Scope } from "./job-api";
import { unknownOptions, optionsFromApi, type OutputOptions } from "./output-options";
import { accountId, zoneId } from "../runtime/fields";
import { unknownMembers, omitAbsent } from "../runtime/members";
import { lookup, LookupError } from "../runtime/lookup";
import { hideDestination, shownDestination } from "./destination-text";

/** Logpush jobs of a zone or an account, and the fields of its datasets. */

interface ScopeArgs {
  /** The zone, 32 hexadecimal digits. Exactly one of `zoneId` and `accountId`. */
  readonly zoneId?: string;
  /** The account, 32 hexadecimal digits. No setting gives it, so that a zone is never taken for an account. */
  readonly accountId?: string;
}

export interface LogpushFieldsArgs extends ScopeArgs {
  /** Which log lines: `http_requests`, `firewall_events`, …. */
  readonly dataset: Dataset | (string & {});
}

/** A field of a dataset, as Cloudflare describes it. */
export interface LogpushFieldState {
  readonly name: string;
  /** Absent where Cloudflare does not begin its description with a type that is known. */
  readonly type?: FieldType;
  /** Cloudflare's own words. */
  readonly description: string;
}

export interface LogpushJobsArgs extends ScopeArgs {
  /** Only jobs of this dataset. Default: all. */
  readonly dataset?: Dataset | (string & {});
}

/** A Logpush job as Cloudflare holds it. Its destination is shown without what may be a credential. */
export interface LogpushJobState {
  readonly id: string;
  readonly name: string;
  readonly dataset: string;
  readonly enabled: boolean;
  readonly kind?: "edge";
  /** Scheme with bucket and path, or with host: `s3://bucket/path`, `https://host`. */
  readonly destination: string;
  /** JSON as a text. Absent where there is none, and where Cloudflare does not show it. */
  readonly filter?: string;
  /** What is not at its default; `fieldNames` where Cloudflare shows them. */
  readonly outputOptions: OutputOptions;
  readonly lastComplete?: string;
  readonly lastError?: string;
  readonly errorMessage?: string;
}

const dataset = z
  .string()
  .regex(
    /^[a-z][a-z0-9_]*$/,
    "has to be the name of a dataset, such as http_requests: small letters, digits and _",
  );

const scopeShape = { zoneId: zoneId.optional(), accountId: accountId.optional() };

const fields = lookup<LogpushFieldsArgs, readonly LogpushFieldState[]>("getLogpushFields")(
  { ...scopeShape, dataset },
  async (host, args, form) => {
    const found = await listFields(host.api, readScope(form, args), args.dataset);
    return found.map(({ name, type, text }) => ({ ...omitAbsent({ name, type }), description: text }));
  },
);

/**
 * The fields of a dataset, as the plan of the zone or account has them (OpenAPI,
 * get-zones-zone_id-logpush-datasets-dataset_id-fields).
 *
 * @throws when an argument is wrong, there is no such dataset, or the token lacks Logs Write.
 */
export const getLogpushFields = fields.plain;

/** `getLogpushFields` for arguments that are outputs. Unknown in a preview without credentials. */
export const getLogpushFieldsOutput = fields.output;

const jobs = lookup<LogpushJobsArgs, readonly LogpushJobState[]>("getLogpushJobs")(
  { ...scopeShape, dataset: dataset.optional() },
  async (host, args, form) => {
    const found = await listJobs(host.api, readScope(form, args), { dataset: args.dataset });
    return found.map(stateOf);
  },
);

/**
 * The Logpush jobs of a zone or account, all or those of one dataset; Cloudflare gives them in one answer (OpenAPI,
 * get-zones-zone_id-logpush-jobs and get-zones-zone_id-logpush-datasets-dataset_id-jobs).
 *
 * @throws when an argument is wrong, or the token lacks Logs Write.
 */
export const getLogpushJobs = jobs.plain;

/** `getLogpushJobs` for arguments that are outputs. Unknown in a preview without credentials. */
export const getLogpushJobsOutput = jobs.output;

function readScope(
  form: string,
  args: { readonly zoneId?: string | undefined; readonly accountId?: string | undefined },
): Scope {
  if ((args.zoneId === undefined) !== (args.accountId === undefined)) return scopeOf(args);
  const which = args.zoneId === undefined ? "neither is set" : "both are set";
  throw new LookupError(`${form}: exactly one of zoneId and accountId says whose; ${which}.`);
}

function stateOf(job: Job): LogpushJobState {
  const { id, name, dataset, kind, raw } = job;
  const text = typeof raw["destination_conf"] === "string" ? raw["destination_conf"] : "";
  const redactor = new Redactor();
  hideDestination(redactor, text); // Cloudflare's words may hold what the destination hides.
  const { errorMessage, ...health } = healthOf(job);
  return {
    id,
    name,
    dataset,
    enabled: raw["enabled"] === true,
    destination: shownDestination(text),
    outputOptions: optionsOf(raw["output_options"]),
    ...health,
    ...omitAbsent({
      kind,
      filter: typeof raw["filter"] === "string" && raw["filter"] !== "" ? raw["filter"] : undefined,
      errorMessage: errorMessage === undefined ? undefined : redactor.redact(errorMessage),
    }),
  };
}

const withFields = z.looseObject({ field_names: z.array(z.string()) });

function optionsOf(raw: unknown): OutputOptions {
  const listed = withFields.safeParse(raw).data?.field_names;
  return {
    ...(listed === undefined ? {} : { fieldNames: listed }),
    ...optionsFromApi({}, raw, undefined),
    ...unknownMembers(unknownOptions(raw), []),
  }; // Of Cloudflare's own types, as far as this version knows them.
}
