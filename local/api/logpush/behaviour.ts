import { z } from "zod";
import { datasets } from "./datasets";
import { fieldTypes } from "./fields";

/** Sides that an answer takes where nobody knows the service's, or where it has been seen on both (facts D08, D27, D28). */
export const behaviourSchema = z.strictObject({
  /** How answers show `destination_conf`: "redacted" hides each secret in it behind `mask`. */
  destination: z.enum(["full", "redacted"]),
  mask: z.string().min(1),
  /** Whether a job in an answer has its `filter`. */
  filter: z.enum(["shown", "hidden"]),
  /** Whether the answer to a create holds the job, or null. */
  created: z.enum(["job", "none"]),
  /** Whether `output_options` in an answer holds the defaults of members that were not sent. */
  defaults: z.enum(["shown", "hidden"]),
  /**
   * The form of the CVE-2021-44228 flag in answers. Both forms are accepted, but by "booleanOnly" and "stringOnly":
   * those refuse the other with a 400 that points at it.
   */
  cve: z.enum(["boolean", "string", "booleanOnly", "stringOnly"]),
  /** Fields that datasets have beside the usual ones, or, with null, have not: services grow, and plans differ. */
  fields: z.partialRecord(z.enum(datasets), z.record(z.string(), z.enum(fieldTypes).nullable())),
  /** A destination that begins so refuses every write. */
  unwritable: z.array(z.string()).readonly(),
});

export type LogpushBehaviour = Readonly<z.infer<typeof behaviourSchema>>;

export function usualBehaviour(dialect: "seed" | "published", strict: boolean): LogpushBehaviour {
  const form = dialect === "seed" ? "string" : "boolean";
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
