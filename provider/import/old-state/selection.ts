import { inSeries } from "../../basics/words";
import type { Scope } from "../../runtime/composite-id";
import { ID } from "../../runtime/fields";
import { PHASES } from "../../rulesets/wire";
import { TYPES, type ExistingObject, type ImportableType, type LeftOut } from "../existing";
import type { Product } from "../options";
import type { Ids, OldResource, OldState } from "./read";

/** What an old resource's type is here. */
interface Counterpart {
  readonly product: Product;
  readonly resource: ImportableType;
  /** Returns what the old resource contains, or why nothing of it can be imported. */
  readonly contents: (ids: Ids) => Contents | string;
}

interface Contents {
  /** The IDs of the objects to import. */
  readonly objects: readonly string[];
  /** The ID of what contains them, if they're only parts. */
  readonly container?: string;
}

const whole = ({ id }: Ids): Contents => ({ objects: [id] });

const COUNTERPARTS: ReadonlyMap<string, Counterpart> = new Map([
  [
    "cloudflare_page_shield_policy",
    { product: "page-shield", resource: TYPES.pageShieldPolicy, contents: whole },
  ],
  ["cloudflare_logpush_job", { product: "logpush", resource: TYPES.logpushJob, contents: whole }],
  ["cloudflare_workers_kv_namespace", { product: "kv", resource: TYPES.kvNamespace, contents: whole }],
  ["cloudflare_workers_kv", { product: "kv", resource: TYPES.kvEntries, contents: entry }],
  [
    "cloudflare_ruleset",
    { product: "rulesets", resource: TYPES.managedRulesetOverride, contents: deployments },
  ],
]);

function deployments({ id, kind, phase, rules }: Ids): Contents | string {
  if (!PHASES.some((each) => each === phase))
    return `its phase has no managed rulesets, which are only deployed in ${inSeries(PHASES)}`;
  if (kind !== "zone" && kind !== "root") return "it isn't the entry point ruleset of a zone or an account";
  const objects = rules.flatMap((rule) => (rule.action === "execute" ? [rule.id ?? ""] : []));
  if (objects.length === 0) return "none of its rules executes a managed ruleset";
  return { objects, container: id };
}

function entry({ namespace_id: container, key_name, key }: Ids): Contents | string {
  const name = key_name ?? key;
  return typeof container === "string" && typeof name === "string"
    ? { objects: [entryId(container, name)], container }
    : NO_IDS;
}

/** Returns the ID of an entry, which is unique in its account. */
export const entryId = (namespaceId: string, key: string): string => `${namespaceId}/${key}`;

const NO_IDS = "the state doesn't show its IDs";

/** A resource in the old state whose object, or whose parts, can be imported. */
interface Taken {
  readonly old: OldResource;
  readonly objects: readonly string[];
}

/** The objects that an old state lists, and which of them were imported. */
export class Selection {
  readonly zones: readonly string[];
  readonly accounts: readonly string[];
  /** Resources that stay in the old state, with the reason. */
  readonly leftOut: LeftOut[] = [];
  /** How many resources of each type have no counterpart here. */
  readonly #others = new Map<string, number>();
  readonly #taken: Taken[] = [];
  readonly #products = new Set<string>();
  readonly #wanted = new Set<string>();
  readonly #seen = new Set<string>();

  constructor(
    readonly state: OldState,
    withValues: boolean,
  ) {
    const scopes = new Map<string, Scope>();
    let entries = 0;
    for (const old of state.resources) {
      const counterpart = COUNTERPARTS.get(old.type);
      if (counterpart === undefined) this.#others.set(old.type, (this.#others.get(old.type) ?? 0) + 1);
      else if (counterpart.resource === TYPES.kvEntries && !withValues) entries += 1;
      else this.#add(old, counterpart, scopes);
    }
    if (entries > 0)
      this.leftOut.push({
        what: `cloudflare_workers_kv (${entries})`,
        reason: "pass --with-values to import the entries, with their values in files that only you can read",
      });
    const all = [...scopes.values()];
    this.zones = all.filter(({ kind }) => kind === "zone").map(({ id }) => id);
    this.accounts = all.filter(({ kind }) => kind === "account").map(({ id }) => id);
  }

  #add(old: OldResource, { product, resource, contents }: Counterpart, scopes: Map<string, Scope>): void {
    const scope = old.ids && scopeIn(old.ids);
    const found = old.obstacle ?? (old.ids === undefined ? NO_IDS : contents(old.ids));
    if (typeof found === "string" || scope === undefined) {
      this.leftOut.push({ what: old.address, reason: typeof found === "string" ? found : NO_IDS });
      return;
    }
    const { objects, container } = found;
    const keys = objects.map((id) => keyOf(resource, scope, id));
    for (const key of keys) this.#wanted.add(key);
    if (container !== undefined) this.#wanted.add(keyOf(resource, scope, container));
    this.#taken.push({ old, objects: keys });
    this.#products.add(`${product} ${scope.kind} ${scope.id}`);
    scopes.set(`${scope.kind} ${scope.id}`, scope);
  }

  /** Whether the old state has objects of a product in the zone or account. */
  asksFor(product: Product, { kind, id }: Scope): boolean {
    return this.#products.has(`${product} ${kind} ${id}`);
  }

  /** Whether the old state has the object, or parts of it. Remembers that the object exists. */
  wants(resource: ImportableType, scope: Scope, id: string): boolean {
    const key = keyOf(resource, scope, id);
    this.#seen.add(key);
    return this.#wanted.has(key);
  }

  /** Resources whose objects no longer exist. To be called after everything was read. */
  get gone(): LeftOut[] {
    return this.#taken
      .filter(({ objects }) => !objects.every((key) => this.#seen.has(key)))
      .map(({ old }) => ({
        what: old.address,
        reason:
          "the API doesn't return it, or returns only a part. Refresh the old state, and check the token's permissions",
      }));
  }

  /**
   * Decides which resources leave the old state: those whose parts can all be declared. Without the other parts of a
   * resource that stays, no object has two managers.
   */
  handOver<T extends { readonly found: ExistingObject }>(
    declarable: readonly T[],
  ): { readonly leaving: readonly OldResource[]; readonly declared: readonly T[] } {
    const keysOf = ({ resource, scope, id, contains = [id] }: ExistingObject): readonly string[] =>
      contains.map((each) => keyOf(resource, scope, each));
    const covered = new Set(declarable.flatMap(({ found }) => keysOf(found)));
    const isLeaving = ({ objects }: Taken): boolean => objects.every((key) => covered.has(key));
    const leaving = this.#taken.filter(isLeaving);
    const handedOver = new Set(leaving.flatMap(({ objects }) => objects));
    for (const { old, objects } of this.#taken)
      if (objects.some((key) => covered.has(key) && !handedOver.has(key)))
        this.leftOut.push({
          what: old.address,
          reason: "only some of its rules could be declared, so all of them stay in the old state",
        });
    return {
      leaving: leaving.map(({ old }) => old),
      declared: declarable.filter(({ found }) => keysOf(found).every((key) => handedOver.has(key))),
    };
  }

  /** Counts the resources without a counterpart: `cloudflare_dns_record 12, cloudflare_zone 1`. */
  get others(): string {
    return [...this.#others].map(([type, count]) => `${type} ${count}`).join(", ");
  }
}

const keyOf = ({ type }: ImportableType, { kind, id: owner }: Scope, id: string): string =>
  JSON.stringify([type, kind, owner, id]);

function scopeIn({ zone_id: zone, account_id: account }: Ids): Scope | undefined {
  const [kind, id] = zone ? (["zone", zone] as const) : (["account", account ?? ""] as const);
  return ID.is(id) ? { kind, id: id.toLowerCase() } : undefined;
}
