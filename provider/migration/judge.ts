import type { LiteralUnion } from "../runtime/fields";
import { assess } from "./assessment";
import type { Finding } from "./findings";
import type { Observation } from "./observation";
import { stateText } from "./state";

/**
 * How far a zone's migration has progressed. `ready`: everything was read, and nothing blocks. `blocked`: something has
 * to be resolved first. `notCounted`: firewall rules, page rules or previous settings couldn't be read, so check them
 * manually. `underWay`: in an undocumented state, such as while a switch is in progress. `done`: finished. `retired`:
 * Cloudflare has retired the migration. `notRead`: the zone couldn't be read.
 */
export type Readiness = LiteralUnion<
  "ready" | "blocked" | "notCounted" | "underWay" | "done" | "retired" | "notRead"
>;

/** How ready a zone is to migrate, and why. */
export interface ZoneReadiness {
  readonly zoneId: string;
  readonly readiness: Readiness;
  /**
   * `start`, `validation`, `finished` or `retired`, otherwise Cloudflare's own word. Absent if the zone couldn't be
   * read.
   */
  readonly migrationState?: string;
  /** What blocks the zone, what wasn't counted, or why the zone couldn't be read. */
  readonly because: readonly string[];
  /** What you should know before the zone migrates, the most serious findings first. */
  readonly findings: readonly Finding[];
}

/** Determines how ready a zone is to migrate. */
export function judged(observation: Observation): ZoneReadiness {
  const { zoneId, state } = observation;
  const { findings } = assess(observation, { target: "assessed" });
  const because = (weight: Finding["weight"]): string[] =>
    findings.filter((each) => each.weight === weight).map(({ text }) => text);
  const known = { zoneId, migrationState: stateText(state), findings };
  if (state.phase === "retired") return { ...known, readiness: "retired", because: [] };
  if (state.phase === "finished") return { ...known, readiness: "done", because: [] };
  const blocks = because("blocks");
  if (blocks.length > 0) return { ...known, readiness: "blocked", because: blocks };
  if (state.phase === "other")
    return { ...known, readiness: "underWay", because: [`Cloudflare reports the state ${stateText(state)}`] };
  const notCounted = because("notCounted");
  if (notCounted.length > 0) return { ...known, readiness: "notCounted", because: notCounted };
  return { ...known, readiness: "ready", because: [] };
}
