import { createHash } from "node:crypto";
import type { Limits } from "../limits";
import { parseDestination, sinkFolder } from "./destination";
import type { Job, OutputOptions } from "./entities";
import { type Line, passes } from "./evaluate";
import type { Fields } from "./fields";
import { parseFilter } from "./filter";
import { effectiveOptions, readLogpull } from "./wire";
import { randomNumbers } from "./lines";
import { recordOf } from "./records";

export interface PushReport {
  /** The number of lines before the filter. */
  readonly lines: number;
  /** The number of lines that passed the filter. */
  readonly passed: number;
  /** The number of lines that passed the filter, were in the sample and were written. */
  readonly sent: number;
  /** The paths of the files in the sink. */
  readonly files: readonly string[];
  /** Why no files were written. */
  readonly error: string | null;
}

interface Batch {
  readonly path: string;
  readonly text: string;
}

/** Cloudflare's limits for a job that doesn't set any. */
const USUAL_RECORDS = 100_000;

/** Returns the files that a job makes from log lines. Doesn't write them. */
export function push(
  job: Job,
  lines: readonly Line[],
  {
    fields,
    now,
    limits,
  }: { readonly fields: Fields | undefined; readonly now: Date; readonly limits: Limits },
): Omit<PushReport, "files" | "error"> & { readonly files: readonly Batch[] } {
  const chosen = optionsOf(job);
  const options = effectiveOptions(chosen);
  const filter =
    job.filter === ""
      ? undefined
      : parseFilter(job.filter, { dataset: job.dataset, fields, doing: "updating a job", limits });

  const passed = lines.filter((line) => passes(filter, line, fields));
  const random = randomNumbers(job.id);
  const sent = passed.filter(() => random() < options.sample_rate);
  const names = chosen?.field_names ?? [...(fields?.keys() ?? [])];
  const records = sent.map((line) => recordOf(line, names, options, fields));

  const folder = sinkFolder(parseDestination(job.destination_conf), now);
  const files = batches(records, job).map((batch, index) => {
    const body = batch.join(options.record_delimiter);
    const whole = options.batch_prefix + body + options.batch_suffix;
    const text = options["CVE-2021-44228"] ? whole.replaceAll("${", "x{") : whole;
    return { path: `${folder}/${fileName(now, job, index, text)}`, text };
  });
  return { lines: lines.length, passed: passed.length, sent: sent.length, files };
}

/** Returns a job's options. `logpull_options` apply only without `output_options`. */
function optionsOf({ output_options, logpull_options }: Job): OutputOptions | null {
  if (output_options !== null || logpull_options === null) return output_options;
  return readLogpull(logpull_options);
}

function batches(records: readonly string[], job: Job): string[][] {
  const mostRecords = job.max_upload_records === 0 ? Infinity : (job.max_upload_records ?? USUAL_RECORDS);
  const mostBytes = job.max_upload_bytes === 0 ? Infinity : (job.max_upload_bytes ?? Infinity);
  const all: string[][] = [];
  let bytes = 0;
  for (const record of records) {
    const size = Buffer.byteLength(record);
    const last = all.at(-1);
    if (last === undefined || last.length >= mostRecords || bytes + size > mostBytes) {
      all.push([record]);
      bytes = size;
    } else {
      last.push(record);
      bytes += size;
    }
  }
  return all;
}

/** Returns a file's name. It's the same for the same batch, so that pushing the batch again overwrites the files. */
function fileName(now: Date, job: Job, index: number, text: string): string {
  const moment = now.toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const hash = createHash("sha256").update(`${job.id} ${index} ${text}`).digest("hex").slice(0, 8);
  return `${moment}_${moment}_${hash}.log`;
}
