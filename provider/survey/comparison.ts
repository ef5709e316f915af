import { z } from "zod";
import { members, schemaUrl } from "../basics/published";

/** The output of `edgeguard survey diff`. */

export const VERDICTS = ["worse", "better", "neutral"] as const;
export type Verdict = (typeof VERDICTS)[number];

export const COMPARISON_SCHEMA = schemaUrl("survey-diff.v1");

/** The JSON that `edgeguard survey diff --format json` writes. */
export const comparison = members({
  $schema: z.literal(COMPARISON_SCHEMA),
  /** When each survey began. */
  before: z.string(),
  after: z.string(),
  /**
   * The changes. `neutral` ones are neither better nor worse, such as a zone that was added, or a part that only one
   * survey could read.
   */
  changes: z.array(
    members({
      verdict: z.enum(VERDICTS),
      /** Whether a zone or an account changed. */
      scope: z.enum(["zone", "account"]),
      id: z.string(),
      name: z.string(),
      /** What changed: `Page Shield`, or the name of a policy, ruleset or job. */
      what: z.string(),
      /** The ID of the policy, rule or job. */
      objectId: z.string().exactOptional(),
      before: z.string(),
      after: z.string(),
    }),
  ),
});
export type Change = z.infer<typeof comparison>["changes"][number];
