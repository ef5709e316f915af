import type { Chart, Zone } from "./model";
import { protectionOf } from "./protection";
import { valueOf } from "./readable";

/**
 * Counts a zone's objects for the charts. The page's script also uses this module, so it doesn't import any libraries.
 */

/** How many of a zone's objects belong to each bar. */
export type Counts = Readonly<Record<string, number>>;

export const COUNTS: Readonly<Record<Chart, (zone: Zone) => Counts>> = {
  pageShield: (zone) => one(valueOf(zone.pageShield), ({ enabled }) => (enabled ? "on" : "off")),
  policies: (zone) =>
    each(valueOf(zone.policies) ?? [], ({ effect }) => (EFFECTS.includes(effect) ? effect : "other")),
  scripts: (zone) => {
    const { malicious = 0, suspicious = 0, notScored = 0, seen = 0 } = valueOf(zone.scripts) ?? {};
    return { malicious, suspicious, notScored, other: seen - malicious - suspicious - notScored };
  },
  managedRulesets: (zone) => one(valueOf(protectionOf(zone)), String),
  owasp: (zone) => one(valueOf(zone.owasp), ({ state }) => state),
  migration: (zone) => one(valueOf(zone.migration), ({ readiness }) => readiness),
  jobs: (zone) => each(valueOf(zone.jobs) ?? [], ({ state }) => state),
  managed: (zone) =>
    managed(
      [zone.pageShield, zone.policies, zone.deployments, zone.responseDeployments, zone.jobs].flatMap(
        (given): readonly Stacked[] => [valueOf(given) ?? []].flat(),
      ),
    ),
};

const EFFECTS = ["enforced", "logging", "off"];

interface Stacked {
  readonly stack?: string | null;
}

/** Counts the objects that a stack manages, and those that none does. Empty in a survey without stacks. */
export function managed(objects: readonly Stacked[]): Counts {
  const marked = objects.filter(({ stack }) => stack !== undefined);
  return each(marked, ({ stack }) => (stack === null ? "unmanaged" : "managed"));
}

function one<T>(value: T | undefined, bar: (value: T) => string): Counts {
  return { [value === undefined ? "notReadable" : bar(value)]: 1 };
}

/** Counts items by their bar. */
export function each<T>(items: readonly T[], bar: (item: T) => string): Counts {
  const counts: Record<string, number> = {};
  for (const item of items) counts[bar(item)] = (counts[bar(item)] ?? 0) + 1;
  return counts;
}

/** Adds counts to a sum. */
export function add(sum: Record<string, number>, counts: Counts): void {
  for (const [bar, count] of Object.entries(counts)) sum[bar] = (sum[bar] ?? 0) + count;
}
