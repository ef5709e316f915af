import { z } from "zod";
import type { JsonObject } from "../basics/json";
import { trafficLines, trafficShape, type Traffic } from "../rulesets/impact";
import type { ImpactRecord, RecordShape } from "../runtime/impact";

/** What an operation finds out about a migration besides its assessment, and the messages about it. */

/** What an operation found out about a migration. */
export interface MigrationImpact extends ImpactRecord {
  /** What the previous rules stopped in the last hours. Present if the step to `finished` can be confirmed. */
  readonly traffic?: Traffic;
}

export const migrationRecord = {
  traffic: trafficShape.exactOptional(),
} as const satisfies RecordShape<MigrationImpact>;

/** Words what the step to `finished` means for requests. Empty if nothing was counted. */
export function migrationLines(found: JsonObject): readonly string[] {
  const { traffic } = z.object(migrationRecord).parse(found);
  if (traffic === undefined) return [];
  return [...trafficLines(traffic), "what the new rules stop instead: not known from events"];
}

/** Returns the messages about a check. */
export function migrationMessages(found: JsonObject, zoneId: unknown): { readonly infos: readonly string[] } {
  const label = `WafMigration of zone ${String(zoneId)}: without the previous rules: `;
  return { infos: migrationLines(found).map((line) => label + line) };
}
