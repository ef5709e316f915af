import { quoteOwn } from "../api/quote";
import { Redactor } from "../api/redact";
import { omitAbsent } from "../basics/json";
import { unknownMembers } from "../basics/schemas";
import { hideDestination, shownDestination } from "./destination-text";
import type { Job } from "./job";
import { listedFields, optionsFromApi, unknownOptions, type OutputOptions } from "./output-options";

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
  /** Whether attack traffic that DDoS protection handles is left out of the logs. */
  readonly filterAttackTraffic?: true;
  /** The ID of the transformer that the log lines go through. */
  readonly transformerId?: number;
  /** The time up to which logs have been pushed. */
  readonly lastComplete?: string;
  /** When a push last failed. Absent if a push has succeeded since. */
  readonly lastError?: string;
  /** Why the last push failed, in Cloudflare's words. */
  readonly errorMessage?: string;
}

/** Returns a job's state, without anything that may be a credential. */
export function jobStateOf(job: Job): LogpushJobState {
  const { id, name, dataset, kind, enabled = false, destination, filter, raw } = job;
  const redactor = new Redactor();
  hideDestination(redactor, destination); // The error message may quote a credential.
  const { errorMessage, ...health } = job.health;
  const fieldNames = listedFields(raw["output_options"]);
  return {
    id,
    name,
    dataset,
    enabled,
    destination: shownDestination(destination),
    outputOptions: {
      ...omitAbsent({ fieldNames }),
      ...optionsFromApi({}, raw["output_options"], undefined),
      ...unknownMembers(unknownOptions(raw["output_options"]), []),
    },
    ...health,
    ...omitAbsent({
      kind,
      filterAttackTraffic: raw["filter_attack_traffic"] === true ? (true as const) : undefined,
      transformerId: typeof raw["transformer_id"] === "number" ? raw["transformer_id"] : undefined,
      filter: filter === "" ? undefined : filter,
      errorMessage: errorMessage === undefined ? undefined : quoteOwn(errorMessage, [redactor]),
    }),
  };
}
