import { z } from "zod";
import type { ImpactRecord, RecordShape } from "../runtime/impact";
import { members } from "../basics/published";

/** What an operation finds out about a deployment of a managed ruleset, and the messages about it. */

const lines = z.array(z.string()).readonly();

/** What an update changes, compared with what runs now. */
export interface ComparedRules {
  /** Changes that protect less, or may protect less, such as `12 rules block → log`. */
  readonly weaker: readonly string[];
  /** Changes that protect more. */
  readonly stronger: readonly string[];
  /**
   * What moving the deployment changes: skip rules that will now apply to it, and other deployments that its exceptions
   * will now apply to. Absent if unknown.
   */
  readonly moved?: readonly string[];
  /**
   * The IDs of the rulesets that other rules deploy behind this deployment, to which its exceptions apply, too. Absent if
   * unknown.
   */
  readonly behind?: readonly string[];
  /** A digest of the changes to each rule. */
  readonly digest: string;
}

const compared = members({
  weaker: lines,
  stronger: lines,
  moved: lines.exactOptional(),
  behind: lines.exactOptional(),
  digest: z.string(),
}) satisfies z.ZodType<ComparedRules>;

/** What an operation found out about a deployment. */
export interface RulesetImpact extends ImpactRecord {
  /** What changes compared with the current deployment. Absent if there is none. */
  readonly compared?: ComparedRules;
  /** What new versions of the ruleset change for the deployment, and what a pinned version lacks. */
  readonly versions?: readonly string[];
}

export const rulesetRecord = {
  compared: compared.exactOptional(),
  versions: lines.exactOptional(),
} as const satisfies RecordShape<RulesetImpact>;

/** What the report needs to have been looked at before it rules out a loss. */
export const SEEN = { existingRule: "existingRule" } as const;

export function versionMessages(versions: unknown, ref: unknown): { readonly infos: string[] } {
  const label = `managed ruleset ${JSON.stringify(ref)}: `;
  return { infos: (lines.safeParse(versions).data ?? []).map((line) => label + line) };
}
