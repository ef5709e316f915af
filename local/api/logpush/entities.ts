import { z } from "zod";
import { identifier } from "../request";

/*
 * What the local API stores of Logpush, with Cloudflare's member names. The schemas check what comes from a state file or
 * the control routes.
 */

export const timestampFormats = ["unixnano", "unix", "rfc3339", "rfc3339ms", "rfc3339ns"] as const;
const outputTypes = ["ndjson", "csv"] as const;
export const kinds = ["", "edge"] as const;

const text = z.string().nullable().optional();

/** The output options as sent, except that the CVE flag is always stored as a boolean. */
export const outputOptions = z.looseObject({
  field_names: z.array(z.string()).optional(),
  sample_rate: z.number().gt(0).max(1).nullable().optional(),
  timestamp_format: z.enum(timestampFormats).optional(),
  output_type: z.enum(outputTypes).optional(),
  "CVE-2021-44228": z.boolean().nullable().optional(),
  merge_subrequests: z.boolean().nullable().optional(),
  stringify_object: z.boolean().nullable().optional(),
  batch_prefix: text,
  batch_suffix: text,
  record_prefix: text,
  record_suffix: text,
  record_template: text,
  record_delimiter: text,
  field_delimiter: text,
});

const scope = z.strictObject({ kind: z.enum(["zones", "accounts"]), id: identifier });

const moment = z.iso.datetime({ offset: true }).nullable();

/** When a job last pushed or failed. */
export const health = z.strictObject({
  last_complete: moment,
  last_error: moment,
  error_message: z.string().nullable(),
});

export const dataset = z.string().regex(/^[a-z][a-z\d_]*$/);

const members = z.strictObject({
  name: z.string(),
  dataset,
  destination_conf: z.string(),
  enabled: z.boolean(),
  kind: z.enum(kinds),
  /** The filter. Empty if there is none. */
  filter: z.string(),
  frequency: z.enum(["high", "low"]),
  logpull_options: z.string().nullable(),
  max_upload_bytes: z.int().nullable(),
  max_upload_interval_seconds: z.int().nullable(),
  max_upload_records: z.int().nullable(),
  output_options: outputOptions.nullable(),
  filter_attack_traffic: z.boolean(),
  transformer_id: z.int().nullable(),
  /** Unknown properties, which are stored and returned. */
  further: z.record(z.string(), z.unknown()),
});

const job = z.strictObject({ id: z.int().min(1), scope, ...members.shape, ...health.shape });

const transformer = z.strictObject({
  id: z.int().min(1),
  accountId: identifier,
  name: z.string(),
  description: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  /** Newest last. */
  versions: z
    .array(z.strictObject({ id: z.int(), version: z.int().min(1), created_at: z.string(), code: z.string() }))
    .min(1),
  further: z.record(z.string(), z.unknown()),
});

export const logpushSnapshot = z.strictObject({
  /** IDs are never reused. */
  nextId: z.int().min(1),
  jobs: z.array(job),
  /** Absent in states from earlier versions, which had none. */
  nextTransformerId: z.int().min(1).default(1),
  transformers: z.array(transformer).default(() => []),
});

export const nothingStored = { nextId: 1, jobs: [], nextTransformerId: 1, transformers: [] };

export type OutputOptions = z.infer<typeof outputOptions>;
export type Scope = z.infer<typeof scope>;
export type Health = z.infer<typeof health>;
export type Job = z.infer<typeof job>;
export type Transformer = z.infer<typeof transformer>;
export type LogpushSnapshot = z.infer<typeof logpushSnapshot>;

/** Defaults of a new job. */
export const nothingSet = {
  name: "",
  enabled: false,
  filter: "",
  frequency: "high",
  logpull_options: null,
  max_upload_bytes: null,
  max_upload_interval_seconds: null,
  max_upload_records: null,
  output_options: null,
  filter_attack_traffic: false,
  transformer_id: null,
  further: {},
  last_complete: null,
  last_error: null,
  error_message: null,
} as const satisfies Partial<Job>;
