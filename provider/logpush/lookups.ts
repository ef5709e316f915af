import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { Redactor } from "../api/redact";
import type { Dataset, FieldType } from "./dataset-fields";
import { healthOf, type Job } from "./job";
import { listFields, listJobs, scopeOf, type Scope } from "./job-api";
import { unknownOptions, optionsFound, type OutputOptions } from "./output-options";
import { accountId, zoneId } from "../runtime/fields";
import type { Host } from "../runtime/host";
import { present } from "../runtime/members";
import { ask, askOutput, LookupError, readArgs, type LookupOptions, type Inputs } from "../runtime/lookup";
import { hideDestination, shownDestination } from "./destination-text";

/** Log-push jobs of a zone or an account, and the fields of its datasets. */

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

/** A field of a dataset, as the service describes it. */
export interface LogpushFieldState {
  readonly name: string;
  /** Absent where the service does not begin its description with a type that is known. */
  readonly type?: FieldType;
  /** The service's own words. */
  readonly description: string;
}

export interface LogpushJobsArgs extends ScopeArgs {
  /** Only jobs of this dataset. Default: all. */
  readonly dataset?: Dataset | (string & {});
}

/** A log-push job as the service holds it. Its destination is shown without what may be a credential. */
export interface LogpushJobState {
  readonly id: string;
  readonly name: string;
  readonly dataset: string;
  readonly enabled: boolean;
  readonly kind?: "edge";
  /** Scheme with bucket and path, or with host: `s3://bucket/path`, `https://host`. */
  readonly destination: string;
  /** JSON as a text. Absent where there is none, and where the service does not show it. */
  readonly filter?: string;
  /** What is not at its default; `fieldNames` where the service shows them. */
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

function readScope(
  lookup: string,
  args: { readonly zoneId?: string | undefined; readonly accountId?: string | undefined },
): Scope {
  if ((args.zoneId === undefined) !== (args.accountId === undefined)) return scopeOf(args);
  const which = args.zoneId === undefined ? "neither is set" : "both are set";
  throw new LookupError(`${lookup}: exactly one of zoneId and accountId says whose; ${which}.`);
}

async function readFields(host: Host, lookup: string, given: unknown): Promise<readonly LogpushFieldState[]> {
  const args = readArgs(lookup, { ...scopeShape, dataset }, given);
  const fields = await listFields(host.api, readScope(lookup, args), args.dataset);
  return fields.map(({ name, type, text }) => ({ ...present({ name, type }), description: text }));
}

async function readJobs(host: Host, lookup: string, given: unknown): Promise<readonly LogpushJobState[]> {
  const args = readArgs(lookup, { ...scopeShape, dataset: dataset.optional() }, given);
  const jobs = await listJobs(host.api, readScope(lookup, args), { dataset: args.dataset });
  return jobs.map(stateOf);
}

function stateOf(job: Job): LogpushJobState {
  const { id, name, dataset, kind, raw } = job;
  const text = typeof raw["destination_conf"] === "string" ? raw["destination_conf"] : "";
  const redactor = new Redactor();
  hideDestination(redactor, text); // The service's words may hold what the destination hides.
  const { errorMessage, ...health } = healthOf(job);
  return {
    id,
    name,
    dataset,
    enabled: raw["enabled"] === true,
    destination: shownDestination(text),
    outputOptions: optionsOf(raw["output_options"]),
    ...health,
    ...present({
      kind,
      filter: typeof raw["filter"] === "string" && raw["filter"] !== "" ? raw["filter"] : undefined,
      errorMessage: errorMessage === undefined ? undefined : redactor.redact(errorMessage),
    }),
  };
}

const withFields = z.looseObject({ field_names: z.array(z.string()) });

function optionsOf(raw: unknown): OutputOptions {
  const listed = withFields.safeParse(raw).data?.field_names;
  const extra = unknownOptions(raw);
  return {
    ...(listed === undefined ? {} : { fieldNames: listed }),
    ...optionsFound({}, raw, undefined),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  } as OutputOptions; // Of the service's own types, as far as this version knows them.
}

/**
 * The fields of a dataset, as the plan of the zone or account has them (OpenAPI,
 * get-zones-zone_id-logpush-datasets-dataset_id-fields).
 *
 * @throws when an argument is wrong, there is no such dataset, or the token lacks Logs Read.
 */
export function getLogpushFields(
  args: LogpushFieldsArgs,
  opts: LookupOptions = {},
): Promise<readonly LogpushFieldState[]> {
  return ask(opts, (host) => readFields(host, "getLogpushFields", args));
}

/** `getLogpushFields` for arguments that are outputs. Unknown in a preview without credentials. */
export function getLogpushFieldsOutput(
  args: Inputs<LogpushFieldsArgs>,
  opts: LookupOptions = {},
): pulumi.Output<readonly LogpushFieldState[]> {
  const what = "getLogpushFieldsOutput";
  return askOutput(what, args, opts, (host, known) => readFields(host, what, known));
}

/**
 * The log-push jobs of a zone or account, all or those of one dataset; the service gives them in one answer (OpenAPI,
 * get-zones-zone_id-logpush-jobs and get-zones-zone_id-logpush-datasets-dataset_id-jobs).
 *
 * @throws when an argument is wrong, or the token lacks Logs Read.
 */
export function getLogpushJobs(
  args: LogpushJobsArgs,
  opts: LookupOptions = {},
): Promise<readonly LogpushJobState[]> {
  return ask(opts, (host) => readJobs(host, "getLogpushJobs", args));
}

/** `getLogpushJobs` for arguments that are outputs. Unknown in a preview without credentials. */
export function getLogpushJobsOutput(
  args: Inputs<LogpushJobsArgs>,
  opts: LookupOptions = {},
): pulumi.Output<readonly LogpushJobState[]> {
  const what = "getLogpushJobsOutput";
  return askOutput(what, args, opts, (host, known) => readJobs(host, what, known));
}
