import type { Phase } from "./entities";

/**
 * How the local API behaves in aspects of a migration that Cloudflare doesn't document. The settings can change while
 * it runs.
 */
export interface WafSettings {
  /** How long the final switch takes, in milliseconds. The zone is pending in the meantime. */
  readonly pendingMs: number;
  /** The `migration_state` of each phase. Cloudflare documents only `start`. */
  readonly stateNames: Readonly<Record<Phase, string>>;
  /** The names of the status's properties, all undocumented. */
  readonly statusMembers: { readonly state: string; readonly previous: string; readonly next: string };
  /** How the status represents whether rules are enabled. */
  readonly statusValues: "words" | "onOff" | "boolean";
  /** Which rules a status shows as enabled while a zone is pending. */
  readonly pendingShows: "previous" | "both";
}

export const defaultWafSettings: WafSettings = {
  pendingMs: 0,
  stateNames: { start: "start", validation: "validation", pending: "pending", finished: "finished" },
  statusMembers: { state: "migration_state", previous: "old_waf", next: "new_waf" },
  statusValues: "words",
  pendingShows: "previous",
};

/** A change to some of the settings. */
export type WafSettingsChange = Partial<
  Omit<WafSettings, "stateNames"> & { readonly stateNames: Partial<WafSettings["stateNames"]> }
>;

export function withChange(settings: WafSettings, change: WafSettingsChange): WafSettings {
  return { ...settings, ...change, stateNames: { ...settings.stateNames, ...change.stateNames } };
}
