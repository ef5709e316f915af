import type { LogpushBehaviour } from "./behaviour";
import { redact } from "./destination";
import type { Job, OutputOptions } from "./entities";
import type { TimestampFormat } from "./timestamps";

/** What holds where a job says nothing, or null (facts 7.2). */
export interface EffectiveOptions {
  readonly sample_rate: number;
  readonly timestamp_format: TimestampFormat;
  readonly output_type: "ndjson" | "csv";
  readonly "CVE-2021-44228": boolean;
  readonly batch_prefix: string;
  readonly batch_suffix: string;
  readonly record_prefix: string;
  readonly record_suffix: string;
  readonly record_template: string;
  readonly record_delimiter: string;
  readonly field_delimiter: string;
}

export function effectiveOptions(options: OutputOptions | null): EffectiveOptions {
  const type = options?.output_type ?? "ndjson";
  return {
    sample_rate: options?.sample_rate ?? 1,
    timestamp_format: options?.timestamp_format ?? "unixnano",
    output_type: type,
    "CVE-2021-44228": options?.["CVE-2021-44228"] ?? false,
    batch_prefix: options?.batch_prefix ?? "",
    batch_suffix: options?.batch_suffix ?? "",
    record_prefix: options?.record_prefix ?? (type === "csv" ? "" : "{"),
    record_suffix: options?.record_suffix ?? (type === "csv" ? "\n" : "}\n"),
    record_template: options?.record_template ?? "",
    record_delimiter: options?.record_delimiter ?? "",
    field_delimiter: options?.field_delimiter ?? ",",
  };
}

/** A job as an answer holds it. */
export function jobToWire(job: Job, behaviour: LogpushBehaviour): Record<string, unknown> {
  const { destination, mask, filter } = behaviour;
  const options = job.output_options;
  return {
    ...job.further,
    id: job.id,
    name: job.name,
    dataset: job.dataset,
    kind: job.kind,
    enabled: job.enabled,
    destination_conf: destination === "full" ? job.destination_conf : redact(job.destination_conf, mask),
    ...(filter === "shown" ? { filter: job.filter } : {}),
    frequency: job.frequency,
    logpull_options: job.logpull_options,
    max_upload_bytes: job.max_upload_bytes,
    max_upload_interval_seconds: job.max_upload_interval_seconds,
    max_upload_records: job.max_upload_records,
    output_options: options === null ? null : optionsToWire(options, behaviour),
    last_complete: job.last_complete,
    last_error: job.last_error,
    error_message: job.error_message,
  };
}

function optionsToWire(options: OutputOptions, { defaults, cve }: LogpushBehaviour): Record<string, unknown> {
  const shown = defaults === "shown" ? { ...options, ...effectiveOptions(options) } : { ...options };
  const flag = shown["CVE-2021-44228"];
  if (typeof flag !== "boolean") return shown;
  return { ...shown, "CVE-2021-44228": cve.startsWith("string") ? String(flag) : flag };
}
