import { microseconds } from "../page-shield/seed";
import { Shelf, type ShelfOptions } from "../shelf";
import { Catalog } from "./catalog";
import type { Deployed, EntryPoint, ManagedRuleset, NextVersion, RulesetsSnapshot } from "./entities";

/** The rulesets of all zones, and the account's managed rulesets. */
export class RulesetStore {
  catalog = new Catalog();
  readonly #zones: Shelf<Deployed>;
  /** All versions of each zone's entry point since the store was filled. */
  readonly #versions = new Map<string, EntryPoint[]>();

  constructor(readonly shelf: ShelfOptions) {
    this.#zones = new Shelf(shelf);
  }

  /** Returns the current time in Cloudflare's format. */
  now(): string {
    return microseconds(this.shelf.clock());
  }

  /** Returns a zone's current entry point, without any lag. */
  latest(zoneId: string): EntryPoint | undefined {
    return this.#zones.latest(zoneId).entryPoint;
  }

  /** Returns a zone's entry point as reads see it, possibly with a lag. */
  visible(zoneId: string): EntryPoint | undefined {
    return this.#zones.visible(zoneId).entryPoint;
  }

  write(zoneId: string, entryPoint: EntryPoint): void {
    this.#zones.write(zoneId, { entryPoint });
    this.#versions.set(zoneId, [...(this.#versions.get(zoneId) ?? []), entryPoint]);
  }

  /** Returns an entry point's versions, oldest first. */
  versions(zoneId: string): readonly EntryPoint[] {
    return this.#versions.get(zoneId) ?? [];
  }

  publish(rulesetId: string, next: NextVersion): ManagedRuleset {
    return this.catalog.publish(rulesetId, next, this.now());
  }

  snapshot(): RulesetsSnapshot {
    const deployed = this.#zones.entries().filter(([, { entryPoint }]) => entryPoint !== undefined);
    return { published: [...this.catalog.publications], zones: Object.fromEntries(deployed) };
  }

  /** Replaces all data. Reads see it immediately. */
  fill(zoneIds: readonly string[], { published, zones }: RulesetsSnapshot): void {
    this.catalog = new Catalog(published);
    this.#zones.reset(zoneIds.map((id) => [id, zones[id] ?? {}]));
    this.#versions.clear();
    for (const [id, { entryPoint }] of Object.entries(zones))
      if (entryPoint !== undefined) this.#versions.set(id, [entryPoint]);
  }
}
