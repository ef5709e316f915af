import { z } from "zod";
import type { Phase } from "./entities";

const stateNames = z.strictObject({
  start: z.string(),
  validation: z.string(),
  pending: z.string(),
  finished: z.string(),
} satisfies Record<Phase, z.ZodString>);

/** How this API fills in what nobody has documented of a migration. May change while it runs. */
const wafSettings = z.strictObject({
  /** How long the switch takes that ends a migration: so long a zone stays pending. */
  pendingMs: z.number().min(0),
  /** `migration_state` of each phase; the vendor documents `start` alone. */
  stateNames,
  /** Members of the status, all of them undocumented. */
  statusMembers: z.strictObject({ state: z.string(), previous: z.string(), next: z.string() }),
  /** How the status says whether rules are enabled. */
  statusValues: z.enum(["words", "onOff", "boolean"]),
  /** Which rules a status shows enabled while a zone is pending. */
  pendingShows: z.enum(["previous", "both"]),
  /**
   * Whether the check answers `compatible: false` for all that blocks a migration, or, as the seed has it, for
   * URI-based overrides alone: what else blocks is refused by the PUT.
   */
  checkKnows: z.enum(["overrides", "everything"]),
});

export type WafSettings = z.infer<typeof wafSettings>;

export const defaultWafSettings: WafSettings = {
  pendingMs: 0,
  stateNames: { start: "start", validation: "validation", pending: "pending", finished: "finished" },
  statusMembers: { state: "migration_state", previous: "old_waf", next: "new_waf" },
  statusValues: "words",
  pendingShows: "previous",
  checkKnows: "overrides",
};

/** What changes; the rest stays. */
export const wafSettingsChange = wafSettings.extend({ stateNames: stateNames.partial() }).partial();

export type WafSettingsChange = z.infer<typeof wafSettingsChange>;

export function withChange(settings: WafSettings, change: WafSettingsChange): WafSettings {
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  const names = Object.entries(change.stateNames ?? {}).filter(([, name]) => name !== undefined);
  return wafSettings.parse({
    ...settings,
    ...Object.fromEntries(given),
    stateNames: { ...settings.stateNames, ...Object.fromEntries(names) },
  });
}
