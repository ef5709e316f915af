import { z } from "zod";
import { failures } from "./envelope";
import { firewallEvent, type FirewallEvent } from "./analytics/events";
import { kvSnapshot } from "./kv/entities";
import type { KvStore } from "./kv/store";
import { plans } from "./limits";
import { logpushSnapshot, nothingStored } from "./logpush/entities";
import type { LogpushStore } from "./logpush/store";
import { configured, detected } from "./page-shield/entities";
import { detect, type Detection, type DetectMode } from "./page-shield/detect";
import { identifier } from "./request";
import { rulesetsSnapshot } from "./rulesets/entities";
import { RulesetStore } from "./rulesets/store";
import { Shelf, type ShelfOptions } from "./shelf";
import { untouched, type WafZone, wafZone } from "./waf/entities";

const zone = z.strictObject({ id: identifier, name: z.string(), plan: z.enum(plans) });

/** The entire stored state as one JSON value. Data that belongs to zones is keyed by zone ID. */
export const snapshotSchema = z.strictObject({
  version: z.literal(1),
  zones: z.array(zone),
  pageShield: z.record(identifier, configured),
  pageShieldDetected: z.record(identifier, detected),
  /** The rulesets. Absent in states from earlier versions, which had none. */
  rulesets: rulesetsSnapshot.default(() => ({ published: [], zones: {} })),
  /** The Logpush jobs and transformers. Absent in states from earlier versions, which had none. */
  logpush: logpushSnapshot.default(() => nothingStored),
  /** The zones' migrations. A zone that isn't listed migrated long ago. */
  waf: z.record(identifier, wafZone).default(() => ({})),
  /** What managed rules did, for GraphQL. */
  firewallEvents: z.record(identifier, z.array(firewallEvent)).default(() => ({})),
  /** The KV data. Restoring a snapshot without it leaves KV unchanged. */
  kv: kvSnapshot.optional(),
});

export type Zone = z.infer<typeof zone>;
export type Snapshot = z.infer<typeof snapshotSchema>;

export class State {
  #zones = new Map<string, Zone>();
  #firewallEvents = new Map<string, readonly FirewallEvent[]>();
  readonly pageShield: Shelf<Snapshot["pageShield"][string]>;
  readonly pageShieldDetected: Shelf<Snapshot["pageShieldDetected"][string]>;

  readonly rulesets: RulesetStore;
  readonly waf: Shelf<WafZone>;

  constructor(
    snapshot: Snapshot,
    readonly kv: KvStore,
    readonly logpush: LogpushStore,
    shelf: ShelfOptions,
  ) {
    this.pageShield = new Shelf(shelf);
    this.pageShieldDetected = new Shelf({ ...shelf, lagMs: 0 });
    this.rulesets = new RulesetStore(shelf);
    this.waf = new Shelf(shelf);
    this.restore(snapshot);
  }

  zone(id: string): Zone | undefined {
    return this.#zones.get(id);
  }

  zones(): readonly Zone[] {
    return [...this.#zones.values()];
  }

  firewallEvents(zoneId: string): readonly FirewallEvent[] {
    return this.#firewallEvents.get(zoneId) ?? [];
  }

  addFirewallEvents(zoneId: string, events: readonly FirewallEvent[]): void {
    this.#firewallEvents.set(zoneId, [...this.firewallEvents(zoneId), ...events]);
  }

  snapshot(): Snapshot {
    return {
      version: 1,
      zones: [...this.#zones.values()],
      pageShield: Object.fromEntries(this.pageShield.entries()),
      pageShieldDetected: Object.fromEntries(this.pageShieldDetected.entries()),
      rulesets: this.rulesets.snapshot(),
      waf: Object.fromEntries(this.waf.entries()),
      logpush: this.logpush.snapshot(),
      firewallEvents: Object.fromEntries([...this.#firewallEvents].map(([id, events]) => [id, [...events]])),
      kv: this.kv.snapshot(),
    };
  }

  /** Replaces the state with another one. Reads see it immediately. */
  restore(snapshot: Snapshot): void {
    this.#zones = new Map(snapshot.zones.map((each) => [each.id, each]));
    this.pageShield.reset(Object.entries(snapshot.pageShield));
    this.pageShieldDetected.reset(Object.entries(snapshot.pageShieldDetected));
    this.rulesets.fill(snapshot.rulesets);
    this.waf.reset([...this.#zones.keys()].map((id) => [id, snapshot.waf[id] ?? untouched("finished")]));
    this.logpush.restore(snapshot.logpush);
    this.#firewallEvents = new Map(Object.entries(snapshot.firewallEvents));
    if (snapshot.kv !== undefined) this.kv.restore(snapshot.kv);
  }

  /** Changes what Page Shield has detected in a zone. */
  detect(zoneId: string, detection: Detection, mode: DetectMode): void {
    const zone = this.zone(zoneId);
    if (zone === undefined) throw failures.notFound(`zone ${zoneId}`);
    const found = this.pageShieldDetected.latest(zoneId);
    this.pageShieldDetected.write(zoneId, detect(found, zone.name, detection, mode));
  }
}
