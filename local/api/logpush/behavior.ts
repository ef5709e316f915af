import { z } from "zod";
import { datasets } from "./datasets";
import { fieldTypes } from "./fields";

/** Settings for the aspects of Logpush responses that Cloudflare doesn't document, or that vary in practice. */
export const behaviorSchema = z.strictObject({
  /** How responses show `destination_conf`: "redacted" replaces each secret with `mask`. */
  destination: z.enum(["full", "redacted"]),
  mask: z.string().min(1),
  /** Whether a job in a response has its `filter`. */
  filter: z.enum(["shown", "hidden"]),
  /** Whether the response to a create contains the job, or null. */
  created: z.enum(["job", "none"]),
  /** Whether `output_options` in a response contains the defaults of members that weren't sent. */
  defaults: z.enum(["shown", "hidden"]),
  /**
   * The form of the CVE-2021-44228 flag in responses. Both forms are accepted, except by "booleanOnly" and
   * "stringOnly": those reject the other form with a 400 that points at it.
   */
  cve: z.enum(["boolean", "string", "booleanOnly", "stringOnly"]),
  /** Fields that datasets have in addition or, with null, don't have. Datasets grow, and plans differ. */
  fields: z.partialRecord(z.enum(datasets), z.record(z.string(), z.enum(fieldTypes).nullable())),
  /** Prefixes of destinations to which writes fail. */
  unwritable: z.array(z.string()).readonly(),
});

export type LogpushBehavior = Readonly<z.infer<typeof behaviorSchema>>;

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
