import { microseconds } from "../page-shield/seed";
import { Shelf, type ShelfOptions } from "../shelf";
import { Catalog } from "./catalog";
import type { Deployed, EntryPoint, ManagedRuleset, NextVersion, RulesetsSnapshot } from "./entities";

/** The rulesets of all zones, and the managed ones of the account. */
export class RulesetStore {
  #catalog = new Catalog();
  readonly #zones: Shelf<Deployed>;
  /** Every version that a zone's entry point has had since this process filled the store, by zone. */
  readonly #versions = new Map<string, EntryPoint[]>();
  readonly #shelf: ShelfOptions;

  constructor(shelf: ShelfOptions) {
    this.#shelf = shelf;
    this.#zones = new Shelf(shelf);
  }

  get catalog(): Catalog {
    return this.#catalog;
  }

  /** Now, as the vendor writes it. */
  now(): string {
    return microseconds(this.#shelf.clock());
  }

  /** What the last write left: what the next write starts from. */
  latest(zoneId: string): EntryPoint | undefined {
    return this.#zones.latest(zoneId).entryPoint;
  }

  /** What a read is shown. */
  visible(zoneId: string): EntryPoint | undefined {
    return this.#zones.visible(zoneId).entryPoint;
  }

  /** Without an entry point the zone has none from now on. */
  write(zoneId: string, entryPoint: EntryPoint | undefined): void {
    this.#zones.write(zoneId, entryPoint === undefined ? {} : { entryPoint });
    if (entryPoint === undefined) this.#versions.delete(zoneId);
    else this.#versions.set(zoneId, [...(this.#versions.get(zoneId) ?? []), entryPoint]);
  }

  /** Oldest first; an entry point that was deleted has none. */
  versions(zoneId: string): readonly EntryPoint[] {
    return this.#versions.get(zoneId) ?? [];
  }

  publish(rulesetId: string, next: NextVersion): ManagedRuleset {
    const published = this.#catalog.publish(rulesetId, next, this.now());
    this.#shelf.onWrite();
    return published;
  }

  snapshot(): RulesetsSnapshot {
    const deployed = this.#zones.entries().filter(([, { entryPoint }]) => entryPoint !== undefined);
    return { published: [...this.#catalog.publications], zones: Object.fromEntries(deployed) };
  }

  /** Puts this in place of everything; reads see it at once. */
  fill(zoneIds: readonly string[], { published, zones }: RulesetsSnapshot): void {
    this.#catalog = new Catalog(published);
    this.#zones.reset(zoneIds.map((id) => [id, zones[id] ?? {}]));
    this.#versions.clear();
    for (const [id, { entryPoint }] of Object.entries(zones))
      if (entryPoint !== undefined) this.#versions.set(id, [entryPoint]);
  }
}
