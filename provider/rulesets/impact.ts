import { z } from "zod";
import type { ImpactOf } from "../runtime/impact";
import type { Messages } from "../runtime/lifecycle";
import { members } from "../runtime/published";

/** What an operation finds out about a deployment of a managed ruleset, and the messages about it. */

const lines = z.array(z.string()).readonly();

const compared = members({
  weaker: lines.describe("Changes that protect less, or may protect less, such as `12 rules block → log`."),
  stronger: lines.describe("Changes that protect more."),
  moved: lines
    .exactOptional()
    .describe(
      "What moving the deployment changes: skip rules that will now apply to it, and other deployments that its exceptions will now apply to. Absent if unknown.",
    ),
  digest: z.string().describe("A digest of the changes to each rule."),
});
/** What an update changes, compared with what runs now. */
export type ComparedRules = z.output<typeof compared>;

export const rulesetRecord = {
  compared: compared
    .exactOptional()
    .describe("What changes compared with the current deployment. Absent if there is none."),
  versions: lines
    .exactOptional()
    .describe("What new versions of the ruleset change for the deployment, and what a pinned version lacks."),
} as const;

/** What an operation found out about a deployment. */
export type RulesetImpact = ImpactOf<typeof rulesetRecord>;

/** What the report needs to have been looked at before it rules out a loss. */
export const SEEN = { existingRule: "existingRule", zoneRules: "zoneRules" } as const;

export function versionMessages(versions: unknown, ref: unknown): Messages {
  const label = `managed ruleset ${JSON.stringify(ref)}: `;
  return { infos: (lines.safeParse(versions).data ?? []).map((line) => label + line) };
}
