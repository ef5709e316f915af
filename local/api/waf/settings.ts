import { z } from "zod";
import type { Phase } from "./entities";

const stateNames = z.strictObject({
  start: z.string(),
  validation: z.string(),
  pending: z.string(),
  finished: z.string(),
} satisfies Record<Phase, z.ZodString>);

/**
 * How the local API behaves in aspects of a migration that Cloudflare doesn't document. The settings can change while
 * it runs.
 */
const wafSettings = z.strictObject({
  /** How long the final switch takes, in milliseconds. The zone is pending in the meantime. */
  pendingMs: z.number().min(0),
  /** The `migration_state` of each phase. Cloudflare documents only `start`. */
  stateNames,
  /** The names of the status's properties, all undocumented. */
  statusMembers: z.strictObject({ state: z.string(), previous: z.string(), next: z.string() }),
  /** How the status represents whether rules are enabled. */
  statusValues: z.enum(["words", "onOff", "boolean"]),
  /** Which rules a status shows as enabled while a zone is pending. */
  pendingShows: z.enum(["previous", "both"]),
});

export type WafSettings = z.infer<typeof wafSettings>;

export const defaultWafSettings: WafSettings = {
  pendingMs: 0,
  stateNames: { start: "start", validation: "validation", pending: "pending", finished: "finished" },
  statusMembers: { state: "migration_state", previous: "old_waf", next: "new_waf" },
  statusValues: "words",
  pendingShows: "previous",
};

/** A change to some of the settings. */
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
