import { datasetName } from "./job-args";
import type { Dataset, FieldType } from "./dataset-fields";
import { listFields, listJobs } from "./job-api";
import { scopeOf, type Scope } from "../runtime/composite-id";
import { ID } from "../runtime/fields";
import { omitAbsent } from "../basics/json";
import { lookup, LookupError } from "../runtime/lookup";
import { jobStateOf, type LogpushJobState } from "./job-state";

export type { LogpushJobState } from "./job-state";

/** Lookups for Logpush jobs and for the fields of datasets. */

interface ScopeArgs {
  /** The zone's ID (32 hex digits). Set either `zoneId` or `accountId`. */
  readonly zoneId?: string;
  /**
   * The account's ID (32 hex digits). Set either `zoneId` or `accountId`. The setting `edgeguard:accountId` doesn't apply,
   * so that a zone is never mistaken for an account.
   */
  readonly accountId?: string;
}

/** Arguments of `getLogpushFields`. */
export interface LogpushFieldsArgs extends ScopeArgs {
  /** The kind of log, such as `http_requests` or `firewall_events`. */
  readonly dataset: Dataset | (string & {});
}

/** A field of a dataset, as Cloudflare describes it. */
export interface LogpushFieldState {
  /** The field's name, such as `ClientIP`. */
  readonly name: string;
  /** The field's type. Absent if Cloudflare's description doesn't start with a known type. */
  readonly type?: FieldType;
  /** Cloudflare's own description. */
  readonly description: string;
}

/** Arguments of `getLogpushJobs`. */
export interface LogpushJobsArgs extends ScopeArgs {
  /**
   * Returns only jobs of this dataset.
   * @defaultValue all datasets
   */
  readonly dataset?: Dataset | (string & {});
}

const scopeShape = { zoneId: ID.zone.optional(), accountId: ID.account.optional() };

const fields = lookup<LogpushFieldsArgs, readonly LogpushFieldState[]>("getLogpushFields")(
  { ...scopeShape, dataset: datasetName },
  async (host, args, form) => {
    const found = await listFields(host.api, readScope(form, args), args.dataset);
    return found.map(({ name, type, text }) => ({ ...omitAbsent({ name, type }), description: text }));
  },
);

/**
 * Returns the fields of a dataset that are available on the plan of the zone or account.
 *
 * @throws If an argument is invalid.
 * @throws If the zone or account has no such dataset.
 * @throws If the token lacks Logs Write.
 * @example Push every field except cookies
 * ```ts
 * import { destination, getLogpushFields, LogpushJob } from "pulumi-edgeguard";
 *
 * const zoneId = "0da42c8d2132a9ddaf714f9e7c920711";
 * const fields = getLogpushFields({ zoneId, dataset: "http_requests" });
 *
 * new LogpushJob("all-but-cookies", {
 *   zoneId,
 *   dataset: "http_requests",
 *   destination: destination.https({ url: "https://logs.example.com/cloudflare" }),
 *   outputOptions: {
 *     fieldNames: fields.then((list) => list.map(({ name }) => name).filter((name) => name !== "Cookies")),
 *   },
 * });
 * ```
 * @see https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/
 * @see `GET /zones/{zone_id}/logpush/datasets/{dataset_id}/fields`
 */
export const getLogpushFields = fields.plain;

/**
 * The same as `getLogpushFields`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const getLogpushFieldsOutput = fields.output;

const jobs = lookup<LogpushJobsArgs, readonly LogpushJobState[]>("getLogpushJobs")(
  { ...scopeShape, dataset: datasetName.optional() },
  async (host, args, form) => {
    const found = await listJobs(host.api, readScope(form, args), { dataset: args.dataset });
    return found.map(jobStateOf);
  },
);

/**
 * Returns the Logpush jobs of a zone or account, either all or those of one dataset. The API returns them in one
 * response.
 *
 * @throws If an argument is invalid.
 * @throws If the token lacks Logs Write.
 * @example List the jobs that are failing
 * ```ts
 * import { getLogpushJobs } from "pulumi-edgeguard";
 *
 * const jobs = getLogpushJobs({ zoneId: "0da42c8d2132a9ddaf714f9e7c920711" });
 *
 * export const failing = jobs.then((list) => list.filter((job) => job.lastError !== undefined).map((job) => job.name));
 * ```
 * @see https://developers.cloudflare.com/logs/logpush/
 * @see `GET /zones/{zone_id}/logpush/jobs`
 * @see `GET /zones/{zone_id}/logpush/datasets/{dataset_id}/jobs`
 */
export const getLogpushJobs = jobs.plain;

/**
 * The same as `getLogpushJobs`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const getLogpushJobsOutput = jobs.output;

function readScope(
  form: string,
  args: { readonly zoneId?: string | undefined; readonly accountId?: string | undefined },
): Scope {
  if ((args.zoneId === undefined) !== (args.accountId === undefined)) return scopeOf(args);
  const which = args.zoneId === undefined ? "neither is set" : "both are set";
  throw new LookupError(`${form}: set either zoneId or accountId; ${which}.`);
}
