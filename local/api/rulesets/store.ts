import { microseconds } from "../page-shield/seed";
import { Shelf, type ShelfOptions } from "../shelf";
import { Catalog } from "./catalog";
import type { Plan } from "../limits";
import {
  PHASE,
  type Deployed,
  type EntryPoint,
  type ManagedRuleset,
  type NextVersion,
  type Phase,
  type RulesetsSnapshot,
} from "./entities";

/** An entry point's zone or account, and its phase. */
export interface Place {
  readonly id: string;
  readonly kind: "zone" | "root";
  readonly plan: Plan;
  readonly phase: Phase;
}

const keyOf = (id: string, phase: Phase): string => (phase === PHASE ? id : `${id} ${phase}`);

/** The rulesets of all zones, and the account's managed rulesets. */
export class RulesetStore {
  catalog = new Catalog();
  readonly #zones: Shelf<Deployed>;
  /** All versions of each zone's entry point since the store was filled. */
  readonly #versions = new Map<string, EntryPoint[]>();

  constructor(readonly shelf: ShelfOptions) {
    this.#zones = new Shelf(shelf, {});
  }

  /** Returns the current time in Cloudflare's format. */
  now(): string {
    return microseconds(this.shelf.clock());
  }

  /** Returns the current entry point of a zone or account, without any lag. */
  latest(id: string, phase: Phase = PHASE): EntryPoint | undefined {
    return this.#zones.latest(keyOf(id, phase)).entryPoint;
  }

  /** Returns an entry point as reads see it, possibly with a lag. */
  visible(id: string, phase: Phase = PHASE): EntryPoint | undefined {
    return this.#zones.visible(keyOf(id, phase)).entryPoint;
  }

  write(id: string, entryPoint: EntryPoint): void {
    const key = keyOf(id, entryPoint.phase ?? PHASE);
    this.#zones.write(key, { entryPoint });
    this.#versions.set(key, [...(this.#versions.get(key) ?? []), entryPoint]);
  }

  /** Returns an entry point's versions, oldest first. */
  versions(id: string, phase: Phase = PHASE): readonly EntryPoint[] {
    return this.#versions.get(keyOf(id, phase)) ?? [];
  }

  publish(rulesetId: string, next: NextVersion): ManagedRuleset {
    return this.catalog.publish(rulesetId, next, this.now());
  }

  snapshot(): RulesetsSnapshot {
    const deployed = this.#zones.entries().filter(([, { entryPoint }]) => entryPoint !== undefined);
    return { published: [...this.catalog.publications], zones: Object.fromEntries(deployed) };
  }

  /** Replaces all data. Reads see it immediately. */
  fill({ published, zones }: RulesetsSnapshot): void {
    this.catalog = new Catalog(published);
    this.#zones.reset(Object.entries(zones));
    this.#versions.clear();
    for (const [id, { entryPoint }] of Object.entries(zones))
      if (entryPoint !== undefined) this.#versions.set(id, [entryPoint]);
  }
}
