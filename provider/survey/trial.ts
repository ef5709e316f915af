import { rightFor } from "./cells";
import type { ListedZone, Zone } from "./model";
import { isNotReadable, valueOf } from "./readable";

/**
 * Decides in which zones to try which permissions. Otherwise, thousands of requests would fail if the token lacks a
 * permission. Because a token may cover only some zones, every permission is first tried in several zones of each
 * account. If the token lacks it in all of them, it isn't tried in the account's other zones. The choice of zones
 * depends only on the list of zones, so that a resumed survey makes the same decisions as an uninterrupted one.
 */

/** In each account, every permission is tried in this many zones at the start of the list. */
const FIRST_ZONES = 20;
/** After those zones, every permission is tried in one of this many zones. */
const ONE_IN = 20;

/** The parts of a zone, each with the path of its first request, relative to `/zones/{id}`. */
export const PARTS = {
  pageShield: "/page_shield",
  policies: "/page_shield",
  scripts: "/page_shield",
  deployments: "/rulesets",
  migration: "/waf_migration/status",
  jobs: "/logpush/jobs",
} as const;
export type Part = keyof typeof PARTS;

/** Returns the zones in which every permission is tried. */
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

/** The permissions that a token lacks in every zone of an account in which they were tried. */
export class RefusedRights {
  readonly #byAccount = new Map<string, readonly string[]>();

  /** Adds the results from a zone in which every permission was tried. */
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

  /** Whether the token lacks every permission in every account. The token is then probably invalid. */
  get isEverything(): boolean {
    return [...this.#byAccount.values()].every((refused) => refused.length === ZONE_RIGHTS.length);
  }
}

const rightOf = (part: Part): string => rightFor(`/zones/z${PARTS[part]}`);
const ALL_PARTS = Object.keys(PARTS) as Part[]; // They're named above.
const ZONE_RIGHTS = [...new Set(ALL_PARTS.map(rightOf))];

/** Returns the permissions that the token lacks in a zone: none of the parts that require them could be read. */
function refusedIn(zone: Zone): string[] {
  const granted = new Set(ALL_PARTS.filter((part) => !isRefused(zone[part])).map(rightOf));
  return ZONE_RIGHTS.filter((right) => !granted.has(right));
}

/** Whether a part couldn't be read because the token lacks the permission. */
export function isRefused(given: unknown): boolean {
  return isNotReadable(given) && given.notReadable === "right";
}
