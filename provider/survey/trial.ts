import { rightFor } from "./cells";
import type { ListedZone, Zone } from "./model";
import { isNotReadable, valueOf } from "./readable";

/**
 * Which permissions are tried in which zones. A token that lacks one would otherwise be refused thousands of times, and a
 * token may cover only some zones. So every permission is tried in some zones of each account first. What all of these
 * refuse isn't tried in the account's other zones. Which zones these are depends only on the list, so that a resumed survey
 * decides as one that was never interrupted.
 */

/** The first zones of each account, which are enough for an account with few. */
const FIRST_ZONES = 20;
/** One in this many of the others. */
const ONE_IN = 20;

/** The parts of a zone, with the first path that each reads below `/zones/{id}`. */
export const PARTS = {
  pageShield: "/page_shield",
  policies: "/page_shield",
  scripts: "/page_shield",
  deployments: "/rulesets",
  migration: "/waf_migration/status",
  jobs: "/logpush/jobs",
} as const;
export type Part = keyof typeof PARTS;

/** The zones in which every permission is tried. */
export function trialZones(zones: readonly ListedZone[]): Set<string> {
  const seen = new Map<string, number>();
  const chosen = zones.filter(({ accountId }) => {
    const account = valueOf(accountId) ?? "";
    const index = seen.get(account) ?? 0;
    seen.set(account, index + 1);
    return index < FIRST_ZONES || index % ONE_IN === 0;
  });
  return new Set(chosen.map(({ id }) => id));
}

/** The permissions that every zone tried of an account refused. */
export class RefusedRights {
  readonly #byAccount = new Map<string, readonly string[]>();

  /** Takes in a zone in which every permission was tried. */
  note(zone: Zone): void {
    const account = valueOf(zone.accountId) ?? "";
    const here = refusedIn(zone);
    const before = this.#byAccount.get(account) ?? here;
    this.#byAccount.set(
      account,
      before.filter((right) => here.includes(right)),
    );
  }

  has(account: string | undefined, right: string): boolean {
    return this.#byAccount.get(account ?? "")?.includes(right) === true;
  }
}

/** The permissions without which no part that takes them could be read. */
function refusedIn(zone: Zone): string[] {
  const isRefused = (part: Part): boolean => {
    const given = zone[part];
    return isNotReadable(given) && given.notReadable === "right";
  };
  const parts = Object.keys(PARTS) as Part[]; // They're named above.
  const rightOf = (part: Part): string => rightFor(`/zones/z${PARTS[part]}`);
  const granted = new Set(parts.filter((part) => !isRefused(part)).map(rightOf));
  return [...new Set(parts.map(rightOf))].filter((right) => !granted.has(right));
}
