import type { KvSnapshot } from "./kv/entities";
import * as kv from "./kv/seed";
import type { Plan } from "./limits";
import * as logpush from "./logpush/seed";
import * as pageShield from "./page-shield/seed";
import * as rulesets from "./rulesets/seed";
import type { Snapshot } from "./state";
import { withSimulatedZones } from "./simulated-zones";
import * as waf from "./waf/seed";

/** The zones that exist at every start. Their IDs never change, so that programs and docs can name them. */
export const zones = {
  shop: "5a0c1e7f3b2d4968a7e1c0f2d3b4a501",
  blog: "5a0c1e7f3b2d4968a7e1c0f2d3b4a502",
  small: "5a0c1e7f3b2d4968a7e1c0f2d3b4a503",
  free: "5a0c1e7f3b2d4968a7e1c0f2d3b4a504",
  empty: "5a0c1e7f3b2d4968a7e1c0f2d3b4a505",
  ...waf.wafZones,
} as const;

export type ZoneName = keyof typeof zones;

const zonePlans = {
  shop: "enterprise",
  blog: "business",
  small: "pro",
  free: "free",
  empty: "enterprise",
} as const satisfies Partial<Record<ZoneName, Plan>>;

/** The accounts that exist at every start. */
export const accounts = { main: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1" } as const;

export type AccountName = keyof typeof accounts;

type Seed = Snapshot & { readonly kv: KvSnapshot };

/** As JSON, because making it takes longer than copying it. */
let seed: string | undefined;

/** @param simulated how many simulated zones to add. */
export function seededState(simulated = 0): Seed {
  const copy = JSON.parse((seed ??= JSON.stringify(seeded()))) as Seed;
  return simulated === 0 ? copy : withSimulatedZones(copy, simulated);
}

function seeded(): Seed {
  const names = ["shop", "blog", "small", "free", "empty"] as const;
  const inEach = <T>(made: () => T) => Object.fromEntries(Object.values(zones).map((id) => [id, made()]));
  return {
    version: 1,
    zones: [
      ...names.map((name) => ({ id: zones[name], name: `${name}.example`, plan: zonePlans[name] })),
      ...waf.zoneRecords(),
    ],
    pageShield: { ...inEach(pageShield.untouched), [zones.shop]: pageShield.shopConfigured() },
    pageShieldDetected: {
      ...inEach(pageShield.nothingDetected),
      [zones.shop]: pageShield.shopDetected(),
      [zones.blog]: pageShield.blogDetected(),
      [zones.small]: pageShield.smallDetected(),
    },
    rulesets: waf.withEntryPoints(rulesets.seeded(zones)),
    waf: waf.seeded(),
    logpush: logpush.seeded(zones.shop),
    firewallEvents: {},
    kv: kv.seeded(),
  };
}
