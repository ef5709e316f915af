import type { FieldType } from "./fields";

/** Settings for the aspects of Logpush responses that Cloudflare doesn't document, or that vary in practice. */
export interface LogpushBehavior {
  /** How responses show `destination_conf`: "redacted" replaces each secret with `mask`. */
  readonly destination: "full" | "redacted";
  readonly mask: string;
  /** Whether a job in a response has its `filter`. */
  readonly filter: "shown" | "hidden";
  /** Whether the response to a create contains the job, or null. */
  readonly created: "job" | "none";
  /** Whether `output_options` in a response contains the defaults of members that weren't sent. */
  readonly defaults: "shown" | "hidden";
  /**
   * The form of the CVE-2021-44228 flag in responses. Both forms are accepted, except by "booleanOnly" and
   * "stringOnly": those reject the other form with a 400 that points at it.
   */
  readonly cve: "boolean" | "string" | "booleanOnly" | "stringOnly";
  /** Fields that datasets have in addition or, with null, don't have. Datasets grow, and plans differ. */
  readonly fields: Readonly<Partial<Record<string, Readonly<Record<string, FieldType | null>>>>>;
  /** Prefixes of destinations to which writes fail. */
  readonly unwritable: readonly string[];
}

export function usualBehavior(dialect: "documented" | "openapi", strict: boolean): LogpushBehavior {
  const form = dialect === "documented" ? "string" : "boolean";
  return {
    destination: "full",
    mask: "****",
    filter: "shown",
    created: "job",
    defaults: "shown",
    cve: strict ? `${form}Only` : form,
    fields: {},
    unwritable: [],
  };
}
