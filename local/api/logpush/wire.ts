import type { LogpushBehavior } from "./behavior";
import { redact } from "./destination";
import type { Job, OutputOptions } from "./entities";

/** Returns the output options, with defaults instead of missing or null ones. */
function effectiveOptions(options: OutputOptions | null) {
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

/** Converts a job to its form in a response. JSON omits undefined properties. */
export function jobToWire(job: Job, behavior: LogpushBehavior): Record<string, unknown> {
  const { further, filter, destination_conf: destination, output_options: options } = job;
  return {
    ...further,
    ...job,
    scope: undefined,
    further: undefined,
    filter: behavior.filter === "shown" ? filter : undefined,
    destination_conf: behavior.destination === "full" ? destination : redact(destination, behavior.mask),
    output_options: options === null ? null : optionsToWire(options, behavior),
  };
}

function optionsToWire(options: OutputOptions, { defaults, cve }: LogpushBehavior): Record<string, unknown> {
  const shown = defaults === "shown" ? { ...options, ...effectiveOptions(options) } : { ...options };
  const flag = shown["CVE-2021-44228"];
  if (typeof flag !== "boolean") return shown;
  return { ...shown, "CVE-2021-44228": cve.startsWith("string") ? String(flag) : flag };
}
