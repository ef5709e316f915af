import { z } from "zod";
import { quoteOwn } from "../api/quote";
import { Redactor } from "../api/redact";
import { omitAbsent, unknownMembers } from "../runtime/members";
import { hideDestination, shownDestination } from "./destination-text";
import { healthOf, type Job } from "./job";
import { optionsFromApi, unknownOptions, type OutputOptions } from "./output-options";

/** A Logpush job as the API returns it, but without any part of the destination that may be a credential. */
export interface LogpushJobState {
  /** The job's number, as a string. */
  readonly id: string;
  /** The job's name; empty if it has none. */
  readonly name: string;
  /** The kind of log that the job pushes. */
  readonly dataset: string;
  /** Whether the job pushes logs. */
  readonly enabled: boolean;
  /** `"edge"` for an Edge Log Delivery job. */
  readonly kind?: "edge";
  /**
   * The destination without credentials: `s3://bucket/path?region=eu-west-1`. `[secret]` stands for a part that may
   * contain a credential.
   */
  readonly destination: string;
  /** The filter, as JSON. Absent if there is none, or if the API doesn't return it. */
  readonly filter?: string;
  /** The options that differ from their defaults, and `fieldNames` if the API returns them. */
  readonly outputOptions: OutputOptions;
  /** The time up to which logs have been pushed. */
  readonly lastComplete?: string;
  /** When a push last failed. Absent if a push has succeeded since. */
  readonly lastError?: string;
  /** Why the last push failed, in Cloudflare's words. */
  readonly errorMessage?: string;
}

/** Returns a job's state, without anything that may be a credential. */
export function jobStateOf(job: Job): LogpushJobState {
  const { id, name, dataset, kind, raw } = job;
  const text = typeof raw["destination_conf"] === "string" ? raw["destination_conf"] : "";
  const redactor = new Redactor();
  hideDestination(redactor, text); // The error message may quote a credential.
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
      errorMessage: errorMessage === undefined ? undefined : quoteOwn(errorMessage, [redactor]),
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
  };
}
