import type { JsonObject } from "../../../provider/basics/json";
import { managedRulesets } from "edgeguard-local";
import { EXTRA } from "./effect";
import { fresh, type Declared, type KnownRules, type World } from "./generate";

/** Generates scenes: what a stack has, what others have, what the program changes, and what the preview can see. */

export interface Resource {
  readonly type: Declared["type"] | "KvNamespace" | "KvEntries" | "WafMigration";
  readonly name: string;
  /** A `namespaceId` may be `{ of: name }`, for a namespace of the program; a `confirm`, for what a migration showed. */
  readonly inputs: JsonObject;
  /** The arguments that only the update knows. */
  readonly unknown?: readonly string[];
  readonly protect?: boolean;
  readonly retainOnDelete?: boolean;
}

/** What a scene has besides a change. */
export const DIMENSIONS = [
  "several resources",
  "live checks off",
  "no credential",
  "silent API",
  "unknown argument",
  "retained",
  "protected",
  "targeted",
  "replaced",
  "hostile name",
  "unfinished update",
  "keys under a pruned prefix",
  "policy taken over",
  "job taken over",
  "rule taken over",
  "namespace taken over",
  "keys taken over",
] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** Keys that others write before the preview. */
export interface OthersKeys {
  /** An ID, or a namespace by its title. */
  readonly namespace: { readonly id: string } | { readonly title: string };
  readonly keys: readonly string[];
}

export interface Scene {
  readonly seed: number;
  /** Resources of someone else's stack. */
  readonly others: readonly Resource[];
  readonly before: readonly Resource[];
  /** An update that fails halfway, between `before` and `after`. */
  readonly interrupted?: { readonly program: readonly Resource[]; readonly fails: string };
  readonly othersKeys: readonly OthersKeys[];
  readonly after: readonly Resource[];
  /** The names that the update is limited to. */
  readonly targets?: readonly string[];
  readonly preview: {
    readonly liveChecks: boolean;
    readonly credential: boolean;
    /** The paths on which the API doesn't answer. */
    readonly silent: readonly string[];
  };
  /** What the scene has, for the whole plan or for one resource. */
  readonly has: ReadonlyMap<Dimension, "plan" | readonly string[]>;
}

type Slot =
  "owasp" | "managed" | "policy" | "second" | "settings" | "job" | "audit" | "space" | "keys" | "shared";
const SLOTS: readonly Slot[] = [
  ...(["owasp", "managed", "policy", "second", "settings", "job", "audit"] as const),
  ...(["space", "keys", "keys", "shared"] as const),
];

/** Paths of reads, some of them of a single resource's. */
const PATHS = [
  "page_shield/policies",
  "page_shield/scripts",
  "page_shield/connections",
  "page_shield$",
  "rulesets",
  "logpush/jobs",
  "logpush/datasets",
  "storage/kv/namespaces$",
  "/keys$",
  "bulk/get",
  "/values/",
];

/** Names and texts that look like a message, end a line or control a terminal. */
const HOSTILE = [
  "shop\nedgeguard: KvEntries keys: prune deletes nothing",
  "products: prune deletes nothing",
  'say "hi"',
  "a\u0007\u001b[31mred",
  "end\r\n| table | `code` |",
  "x: would block 0 of the zone's active scripts\u2028",
];

export interface SceneWorld extends World {
  /** The ID of a namespace that others created. */
  readonly shared: string;
  /** The ID of a zone that can be migrated. */
  readonly migrating: string;
}

/** A scene, the same for the same seed. */
export function scene(seed: number, world: SceneWorld, rules: KnownRules): Scene {
  const { random } = world;
  const focus = DIMENSIONS[seed % DIMENSIONS.length];
  const has = new Map<Dimension, "plan" | string[]>();
  const wants = (dimension: Dimension, chance = 0.08): boolean =>
    dimension === focus || random.chance(chance);
  const mark = (dimension: Dimension, ...names: string[]): void => {
    const known = has.get(dimension) ?? [];
    if (known !== "plan") has.set(dimension, [...known, ...names]);
  };
  const slots = new Set(random.some(SLOTS, 2, focus === "several resources" ? 5 : 3));
  const maker = new Maker(world, rules);

  // 1. What the stack has.
  const isHostile = wants("hostile name");
  const names = new Map<Slot, string>();
  const nameOf = (slot: Slot): string => {
    const hostile = isHostile && random.chance(0.7) ? `${random.pick(HOSTILE)} ${slot}` : slot;
    const name = names.get(slot) ?? hostile;
    names.set(slot, name);
    if (name !== slot && !(has.get("hostile name") ?? []).includes(name)) mark("hostile name", name);
    return name;
  };
  const make = (slot: Slot): Resource => ({ ...maker.make(slot, nameOf("space")), name: nameOf(slot) });

  const others: Resource[] = [];
  const added: Resource[] = [];
  const othersKeys: OthersKeys[] = [];
  const takeOver = (dimension: Dimension, slot: Slot, theirs: JsonObject = {}): void => {
    if (!wants(dimension)) return;
    slots.delete(slot);
    const own = make(slot);
    const there = make(slot);
    const same = Object.fromEntries(
      ["zoneId", "description", "dataset", "ruleset", "expression", "name", "title"].flatMap((name) =>
        name in own.inputs && !(slot === "policy" && name === "expression") ? [[name, own.inputs[name]]] : [],
      ),
    );
    const ref = "ref" in own.inputs ? { ref: `theirs/${slot}` } : {};
    const left = { ...there.inputs, ...same, ...ref, ...theirs };
    others.push({ ...there, inputs: left });
    added.push({ ...own, inputs: { ...own.inputs, ...ref, adopt: "takeOver" } });
    mark(dimension, own.name);
  };
  takeOver("policy taken over", "second", { action: "allow", expression: "true", enabled: true });
  takeOver("job taken over", "audit", { enabled: true });
  takeOver("rule taken over", "managed", { enabled: true });
  if (wants("namespace taken over")) {
    for (const slot of ["space", "keys"] as const) slots.delete(slot);
    const [space, keys] = [make("space"), make("keys")];
    others.push(space);
    othersKeys.push({ namespace: { title: String(space.inputs["title"]) }, keys: maker.othersKeys() });
    added.push({ ...space, inputs: { ...space.inputs, adopt: "takeOver" } });
    added.push({
      ...keys,
      inputs: random.chance(0.5)
        ? { ...keys.inputs, prune: { prefix: random.pick(["", "a/"]) } }
        : { ...keys.inputs, adopt: "takeOver" },
    });
    mark("namespace taken over", space.name, keys.name);
  }
  for (const dimension of ["keys under a pruned prefix", "keys taken over"] as const)
    if (wants(dimension) && !added.some(({ type }) => type === "KvEntries"))
      slots.add(random.pick(["keys", "shared"]));
  if (focus === "unfinished update") slots.add(random.pick(["keys", "shared"]));
  if (slots.has("keys") && !added.some(({ type }) => type === "KvNamespace")) slots.add("space");
  const isNewIn = new Set(random.chance(0.25) ? random.some([...slots], 1, 1) : []);
  if (isNewIn.has("space")) isNewIn.add("keys");
  const ordered = SLOTS.filter((slot, index) => slots.has(slot) && SLOTS.indexOf(slot) === index);
  let before = ordered.filter((slot) => !isNewIn.has(slot)).map(make);
  added.push(...ordered.filter((slot) => isNewIn.has(slot)).map(make));

  // 2. What the program changes.
  const changed = new Set(random.some(before, 1, before.length).map(({ name }) => name));
  let after = before.flatMap((each): Resource[] => {
    if (!changed.has(each.name)) return [each];
    if (random.chance(0.15)) return [];
    return [{ ...each, inputs: maker.changed(each, nameOf("space")) }];
  });
  const inBoth = (fits: (each: Resource) => boolean = () => true): readonly string[] =>
    after
      .filter((each) => fits(each) && before.some(({ name }) => name === each.name))
      .map(({ name }) => name);
  const edit = (name: string, change: (each: Resource) => Resource): void => {
    after = after.map((each) => (each.name === name ? change(each) : each));
  };
  const withInputs = (name: string, inputs: JsonObject): void =>
    edit(name, (each) => ({ ...each, inputs: { ...each.inputs, ...inputs } }));
  after = [...after, ...added];
  if (slots.has("space") && !after.some(({ name }) => name === nameOf("space"))) {
    // Without the namespace, the program can't have its entries. Keys that others wrote go with it.
    after = after.filter(({ name }) => name !== nameOf("keys"));
    othersKeys.push({ namespace: { title: "space" }, keys: maker.othersKeys() });
  }
  if (random.chance(0.4)) {
    const on = { enabled: true, useReportingEndpoint: true, useConnectionUrlPath: true, onDestroy: "keep" };
    others.push({ type: "PageShieldSettings", name: "settings", inputs: { zoneId: world.zone, ...on } });
  }

  for (const { name, inputs } of after.filter(({ type }) => type === "KvEntries")) {
    const { namespaceId } = inputs;
    const isOwn = namespaceId !== world.shared;
    const title = String(after.find(({ name }) => name === nameOf("space"))?.inputs["title"]);
    if (has.get("namespace taken over")?.includes(name) === true) continue;
    const namespace = isOwn ? { title } : { id: world.shared };
    if (wants("keys under a pruned prefix")) {
      withInputs(name, { prune: { prefix: random.pick(["", "a/", "a/"]) } });
      othersKeys.push({ namespace, keys: maker.othersKeys() });
      mark("keys under a pruned prefix", name);
    } else if (wants("keys taken over")) {
      const keys = random.some(["a/theirs1", "a/theirs2", "b/theirs3"], 1, 3);
      const entries = {
        ...(inputs["entries"] as JsonObject),
        ...Object.fromEntries(keys.map((key) => [key, "ours"])),
      };
      withInputs(name, { entries, adopt: "takeOver" });
      othersKeys.push({ namespace, keys });
      mark("keys taken over", name);
    }
  }

  if (wants("replaced")) {
    const replaceable = after.filter(({ type, name }) => type !== "KvNamespace" && inBoth().includes(name));
    for (const { name, type, inputs } of random.some(replaceable, 1, 1)) {
      if (type !== "KvEntries")
        withInputs(name, { zoneId: inputs["zoneId"] === world.zone ? world.otherZone : world.zone });
      else if (inputs["namespaceId"] === world.shared && after.some((each) => each.name === nameOf("space")))
        withInputs(name, { namespaceId: { of: nameOf("space") } });
      else if (inputs["namespaceId"] !== world.shared) withInputs(name, { namespaceId: world.shared });
      else continue;
      if (type === "KvEntries" && random.chance(0.5)) withInputs(name, { prune: { prefix: "" } });
      mark("replaced", name);
    }
  }
  if (wants("retained"))
    for (const name of random.some([...changed], 1, 2)) {
      before = before.map((each) => (each.name === name ? { ...each, retainOnDelete: true } : each));
      edit(name, (each) => ({ ...each, retainOnDelete: true }));
      mark("retained", name);
    }
  if (wants("protected"))
    for (const name of random.some(
      inBoth(({ name }) => changed.has(name)),
      1,
      2,
    )) {
      before = before.map((each) => (each.name === name ? { ...each, protect: true } : each));
      const protect = random.chance(0.6);
      edit(name, (each) => ({ ...each, protect }));
      mark("protected", name);
    }
  if (wants("unknown argument"))
    for (const { name, inputs } of random.some(after, 1, 2)) {
      const had = before.find((each) => each.name === name)?.inputs ?? {};
      const free = Object.keys(inputs).filter(
        (key) =>
          !["accountId", "name", "description", "ref"].includes(key) &&
          (random.chance(0.3) || JSON.stringify(had[key]) !== JSON.stringify(inputs[key])),
      );
      if (free.length === 0) continue;
      const unknown = random.some(free, 1, 2);
      edit(name, (each) => ({ ...each, unknown }));
      mark("unknown argument", name);
    }
  const entries = before.filter(({ type, name }) => type === "KvEntries" && inBoth().includes(name));
  const [first] = wants("unfinished update", 0.16) ? random.some(entries, 1, 1) : [];
  let interrupted: Scene["interrupted"];
  if (first !== undefined) {
    const inputs = maker.changed(first, nameOf("space"));
    interrupted = {
      program: before.map((each) => (each.name === first.name ? { ...each, inputs } : each)),
      fails: random.pick(["PUT", "POST"]),
    };
    // Tried again, set back, or changed further.
    const next = random.pick(["again", "again", "back", "further"]);
    if (next !== "further")
      withInputs(
        first.name,
        pickMembers(next === "again" ? inputs : first.inputs, ["entries", "prune", "adopt"]),
      );
    mark("unfinished update", first.name);
  }
  const all = [...new Set([...before, ...after].map(({ name }) => name))];
  const isTargeted = wants("targeted") && all.length > 1;
  const targets = isTargeted ? random.some(all, 1, all.length - 1) : undefined;
  const preview = {
    liveChecks: !wants("live checks off"),
    credential: !wants("no credential"),
    silent: wants("silent API") ? random.some(PATHS, 1, 4) : [],
  };
  if (targets !== undefined) has.set("targeted", "plan");
  if (!preview.liveChecks) has.set("live checks off", "plan");
  if (!preview.credential) has.set("no credential", "plan");
  if (preview.silent.length > 0) has.set("silent API", "plan");
  if (all.length > 1) has.set("several resources", "plan");
  const rare = targets === undefined ? rareChange(seed, world) : undefined;
  if (rare?.others !== undefined) others.push(rare.others);
  before = [...before, ...(rare?.before ?? [])];
  after = [...after, ...(rare?.after ?? [])];
  return {
    seed,
    others,
    before,
    ...(interrupted === undefined ? {} : { interrupted }),
    othersKeys,
    after,
    ...(targets === undefined ? {} : { targets }),
    preview,
    has,
  };
}

const POSTS = 'http.request.method eq "POST"';

/** Changes that random arguments seldom make, each in resources of its own. */
function rareChange(
  seed: number,
  { zone, migrating, account }: SceneWorld,
): {
  readonly others?: Resource;
  readonly before?: readonly Resource[];
  readonly after?: readonly Resource[];
} {
  const resource = (type: Resource["type"], name: string, inputs: JsonObject): Resource => ({
    type,
    name,
    inputs,
  });
  switch (seed % 8) {
    case 0: {
      const migration = (inputs: JsonObject): Resource[] => [
        resource("WafMigration", "migration", { zoneId: migrating, plan: "pro", ...inputs }),
      ];
      const confirm = { of: "migration" };
      return {
        before: migration({ target: "assessed" }),
        after: migration({ target: "finished", confirm }),
      };
    }
    case 1: {
      // Behind another rule's exception, a rule no longer runs.
      const rules = (position: string): Resource[] => [
        resource("ManagedRulesetOverride", "skipping", {
          ...{ zoneId: zone, accountId: account, ref: "scene/skipping", expression: POSTS },
          ruleset: { id: managedRulesets.owasp },
          exceptions: [{ expression: "true", skip: { rulesets: [managedRulesets.managed] } }],
        }),
        resource("ManagedRulesetOverride", "moving", {
          ...{ zoneId: zone, accountId: account, ref: "scene/moving", expression: POSTS },
          ruleset: { id: managedRulesets.managed },
          position,
        }),
      ];
      return { before: rules("first"), after: rules("last") };
    }
    case 2: {
      const off = { enabled: true, useReportingEndpoint: false, onDestroy: "keep" };
      return {
        others: resource("PageShieldSettings", "on", { zoneId: zone, enabled: true, onDestroy: "keep" }),
        after: [resource("PageShieldSettings", "off", { zoneId: zone, ...off })],
      };
    }
    case 3: {
      const policy = (action: string): Resource[] => [
        resource("PageShieldPolicy", "enforced", {
          ...{ zoneId: zone, description: "enforced", expression: "true", value: "script-src 'self'" },
          action,
        }),
      ];
      return { before: policy("log"), after: policy("allow") };
    }
    case 4: {
      // The exceptions of a new first rule also apply to someone else's rule of the same ruleset.
      const rule = (name: string, more: JsonObject): Resource =>
        resource("ManagedRulesetOverride", name, {
          ...{ zoneId: zone, accountId: account, ref: `scene/${name}` },
          ruleset: { id: managedRulesets.managed },
          ...more,
        });
      const exceptions = [{ expression: "true", skip: { rulesets: [managedRulesets.managed] } }];
      return {
        others: rule("theirs", { expression: POSTS }),
        after: [rule("preceding", { expression: "false", position: "first", exceptions })],
      };
    }
    case 5: {
      const job = (key: string): Resource[] => [
        resource("LogpushJob", "tenant", {
          ...{
            zoneId: zone,
            name: "tenant",
            dataset: "http_requests",
            outputOptions: { fieldNames: ["RayID"] },
          },
          destinationConf: `datadog://logs.example.com/v1?header_DD-API-KEY=${key.repeat(32)}&ddsource=cloudflare`,
        }),
      ];
      return { before: job("a"), after: job("b") };
    }
    case 6: {
      // Only the update knows the ID of a new namespace, so the preview shows no replacement.
      const space = (name: string): Resource =>
        resource("KvNamespace", name, { accountId: account, title: name });
      const entries = Object.fromEntries(
        Array.from({ length: 20 }, (_, index) => [`moved/${index}`, "value"]),
      );
      const moved = (of: string): Resource =>
        resource("KvEntries", "moved", { accountId: account, namespaceId: { of }, entries });
      return {
        before: [space("scene-old"), moved("scene-old")],
        after: [space("scene-old"), space("scene-new"), moved("scene-new")],
      };
    }
    default:
      return {};
  }
}

const pickMembers = (from: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(names.flatMap((name) => (name in from ? [[name, from[name]]] : [])));

/** Arguments that are often the only one that changes, because few programs set them. */
const RARE = ["position", "useReportingEndpoint", "useConnectionUrlPath", "extra", "outputOptions"];

/** Makes a resource's arguments, and changes them. */
class Maker {
  readonly #world: SceneWorld;
  readonly #rules: KnownRules;

  constructor(world: SceneWorld, rules: KnownRules) {
    this.#world = world;
    this.#rules = rules;
  }

  make(slot: Slot, space: string): Resource {
    const { account } = this.#world;
    if (slot === "space")
      return {
        type: "KvNamespace",
        name: slot,
        inputs: { accountId: account, title: "space", ...this.#force() },
      };
    if (slot === "keys" || slot === "shared") {
      const namespaceId = slot === "shared" ? this.#world.shared : { of: space };
      const inputs = { accountId: account, namespaceId, entries: this.#entries(slot), ...this.#options() };
      return { type: "KvEntries", name: slot, inputs };
    }
    const type = TYPES[slot];
    const inputs = {
      ...fresh(this.#world, this.#rules, { type, name: slot, inputs: {} }),
      ...this.#rarer(slot),
    };
    return { type, name: slot, inputs: slot === "audit" ? { ...inputs, name: "audit" } : inputs };
  }

  changed({ type, inputs }: Resource, space: string): JsonObject {
    const { random } = this.#world;
    const slot = random.pick(SLOTS.filter((each) => isOf(each, type, inputs, this.#world.shared)));
    const other = this.make(slot, space).inputs;
    const fixed = ["accountId", "namespaceId", "title", "name", "description", "ref", "ruleset"];
    const names = [...new Set([...Object.keys(inputs), ...Object.keys(other)])].filter(
      (name) => !fixed.includes(name) && JSON.stringify(inputs[name]) !== JSON.stringify(other[name]),
    );
    const rare = names.filter((name) => RARE.includes(name));
    const taken =
      rare.length > 0 && random.chance(0.4)
        ? random.some(rare, 1, 1)
        : random.some(names, 1, random.chance(0.6) ? 1 : names.length);
    const both: JsonObject = { ...inputs, ...pickMembers(other, taken) };
    return Object.fromEntries(
      Object.entries(both).filter(([name]) => !taken.includes(name) || name in other),
    );
  }

  /** Arguments that a program seldom sets. */
  #rarer(slot: Slot): JsonObject {
    const { random } = this.#world;
    if (slot === "owasp" || slot === "managed")
      return random.maybe("position", () => random.pick(["first", "last"]), 0.4);
    if (slot === "settings") return random.maybe("useConnectionUrlPath", () => random.chance(0.5));
    if (slot === "policy" || slot === "second")
      return random.maybe("extra", () => ({ [EXTRA]: random.int(1, 3) }), 0.4);
    const rare = {
      ...random.maybe("mergeSubrequests", () => random.chance(0.7)),
      ...random.maybe("cve202144228", () => random.chance(0.7)),
    };
    return {
      ...random.maybe("outputOptions", () => ({ fieldNames: ["RayID", "ClientIP"], ...rare }), 0.4),
      ...random.maybe("extra", () => ({ [EXTRA]: random.int(1, 3) }), 0.2),
    };
  }

  /** Keys that someone else writes. */
  othersKeys(): string[] {
    return this.#world.random.some(["a/theirs1", "a/theirs2", "b/theirs3", "a/k1", "b/k2"], 1, 4);
  }

  #force(): JsonObject {
    return this.#world.random.maybe("forceDestroy", () => true, 0.5);
  }

  #options(): JsonObject {
    const { random } = this.#world;
    return {
      ...random.maybe("prune", () => ({ prefix: random.pick(["a/", "b/"]) }), 0.2),
      ...random.maybe("adopt", () => "takeOver", 0.2),
    };
  }

  #entries(slot: Slot): JsonObject {
    const { random } = this.#world;
    const prefix = slot === "shared" ? "shared/" : "a/";
    const count = random.pick([0, 1, 3, 14, 16, 20]);
    const keys = Array.from(
      { length: count },
      (_, index) => `${random.chance(0.8) ? prefix : "b/"}k${index}`,
    );
    return Object.fromEntries([...keys, `${prefix}always`].map((key) => [key, random.word()]));
  }
}

const TYPES: Readonly<Record<Exclude<Slot, "space" | "keys" | "shared">, Declared["type"]>> = {
  owasp: "ManagedRulesetOverride",
  managed: "ManagedRulesetOverride",
  policy: "PageShieldPolicy",
  second: "PageShieldPolicy",
  settings: "PageShieldSettings",
  job: "LogpushJob",
  audit: "LogpushJob",
};

/** Whether a slot makes arguments for such a resource. */
function isOf(slot: Slot, type: Resource["type"], inputs: JsonObject, shared: string): boolean {
  if (slot === "space") return type === "KvNamespace";
  if (slot === "keys") return type === "KvEntries" && inputs["namespaceId"] !== shared;
  if (slot === "shared") return type === "KvEntries" && inputs["namespaceId"] === shared;
  if (type === "ManagedRulesetOverride") return slot === (inputs["ref"] as string).split("/").at(-1);
  return TYPES[slot] === type;
}
