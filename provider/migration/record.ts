import { z } from "zod";
import { omitAbsent } from "../basics/json";
import type { Assessment } from "./assessment";
import { concurrentChange, type ConcurrentChange } from "./concurrent";
import { finding } from "./findings";
import { fromWire, type MigrationRule } from "./rules";
import type { Observation } from "./observation";
import { stateText, TARGETS, type MigrationState, type Target } from "./state";

/** The recorded outputs of a migration. */

/** One event of a zone's migration. */
export interface HistoryEntry {
  /** The step that the event belongs to, named after its target. */
  readonly step: Target;
  /**
   * `assessed`: the zone was read for the first time. `sent`: Cloudflare accepted the configuration. `unclear`: the
   * configuration was sent, but it's unknown whether Cloudflare accepted it. `reached`: the zone completed the step.
   * `found`: the zone completed the step without this resource.
   */
  readonly event: "assessed" | "sent" | "unclear" | "reached" | "found";
  /** When the event happened, in ISO 8601. */
  readonly at: string;
}

const historyEntry: z.ZodType<HistoryEntry> = z.object({
  step: z.enum(TARGETS),
  event: z.enum(["assessed", "sent", "unclear", "reached", "found"]),
  at: z.string(),
});
export type History = readonly HistoryEntry[];

export const computed = z.object({
  compatible: z.boolean().exactOptional(),
  migrationState: z.string(),
  previousRulesEnabled: z.boolean().exactOptional(),
  newRulesEnabled: z.boolean().exactOptional(),
  proposedConfiguration: z
    .array(z.custom<MigrationRule>((rule) => typeof rule === "object" && rule !== null))
    .exactOptional(),
  configurationDigest: z.string().exactOptional(),
  findings: z.array(finding),
  assessedBefore: z.array(finding).exactOptional(),
  history: z.array(historyEntry),
  concurrentChanges: z.array(concurrentChange).exactOptional(),
});
export type Computed = z.infer<typeof computed>;

/** Returns what to record. Keeps the recorded proposal and its digest after Cloudflare stops returning them. */
export function recordOf(
  { open, state, deploys }: Observation,
  { findings, digest }: Pick<Assessment, "findings" | "digest">,
  history: History,
  before: Computed | undefined,
  concurrent: readonly ConcurrentChange[] = [],
): Computed {
  const compatible = open === undefined ? before?.compatible : open.compatible;
  const proposed = open?.proposed?.rules.map(fromWire) ?? before?.proposedConfiguration;
  // The findings of a finished zone no longer show what its migration lost.
  const assessedBefore = open === undefined ? (before?.assessedBefore ?? before?.findings) : undefined;
  const changes = [...(before?.concurrentChanges ?? []), ...concurrent];
  return {
    ...stateOf(state, deploys),
    ...omitAbsent({
      assessedBefore,
      compatible,
      proposedConfiguration: proposed,
      configurationDigest: digest ?? before?.configurationDigest,
      concurrentChanges: changes.length === 0 ? undefined : changes,
    }),
    findings: [...findings],
    history: [...history],
  };
}

export function stateOf(
  state: MigrationState,
  deploys: boolean | undefined,
): Pick<Computed, "migrationState" | "previousRulesEnabled" | "newRulesEnabled"> {
  const { previousRulesEnabled, newRulesEnabled } = state;
  return omitAbsent({
    migrationState: stateText(state),
    previousRulesEnabled,
    newRulesEnabled: newRulesEnabled && deploys !== false,
  });
}

export function withEvent(
  history: History,
  step: Target,
  event: HistoryEntry["event"],
  now = new Date(),
): History {
  return [...history, { step, event, at: now.toISOString() }];
}

/**
 * Adds an event for the zone's state if there's none yet: `reached` if this resource sent the step, otherwise `found`.
 */
export function withArrival(history: History, { phase }: MigrationState): History {
  if (phase !== "validation" && phase !== "finished") return history;
  const own = history.filter(({ step }) => step === phase).map(({ event }) => event);
  if (own.includes("reached") || own.includes("found")) return history;
  return withEvent(history, phase, own.length > 0 ? "reached" : "found");
}

/** Whether the step was sent so recently that the switch may still be in progress. */
export function isUnderWay(history: History, step: Target, withinSeconds: number, now = Date.now()): boolean {
  const sent = history.filter((entry) => entry.step === step).at(-1);
  return sent?.event === "sent" && now - Date.parse(sent.at) < withinSeconds * 1000;
}
