import {
  declare,
  entriesArgs,
  jobArgs,
  migrationArgs,
  namespaceArgs,
  overrideArgs,
  policyArgs,
  settingsArgs,
  zoneOf,
  type World,
} from "./generate";
import { RENAMED } from "./remedies";
import { isObject, textOf, TYPES, type Args, type Declared, type Program, type Value } from "./program";

/** The next version of a program: arguments and resources that changed, came, went, or bear another name. */
export function derive(world: World, { resources }: Program): Program {
  const { random } = world;
  const fates = new Map(resources.map((each) => [each.name, fateOf(world, each)]));
  // What hangs on a namespace that goes, goes as well.
  for (const { name, args } of resources) {
    const on = dependency(args);
    if (on !== undefined && fates.get(on) === "removed") fates.set(name, "removed");
  }
  const next: Declared[] = [];
  for (const each of resources) {
    const fate = fates.get(each.name);
    if (fate === "removed") continue;
    const args = fate === "changed" ? changed(world, each, next) : each.args;
    next.push({ ...each, args, ...(fate === "renamed" ? { name: `${each.name}${RENAMED}` } : {}) });
  }
  for (let more = random.int(0, 2); more > 0 && next.length < 8; more -= 1) {
    const added = declare(world, random.pick(TYPES), next);
    if (added !== undefined) next.push(added);
  }
  const renamed = (name: string): string => (fates.get(name) === "renamed" ? `${name}${RENAMED}` : name);
  return {
    resources: next.map((each) => ({ ...each, args: pointed(each.args, renamed) })),
    files: { ...world.files },
  };
}

type Fate = "same" | "changed" | "removed" | "renamed";

function fateOf({ random }: World, { args }: Declared): Fate {
  const fate = random.pick<Fate>(["same", "changed", "changed", "changed", "changed", "removed", "renamed"]);
  // Kept on purpose where it goes: nothing would be left to compare.
  const stays = args["onDestroy"] === "keep";
  if (stays && (fate === "removed" || fate === "renamed")) return "same";
  return fate;
}

/** The namespace resource that entries are in. */
export function dependency(args: Args): string | undefined {
  const { namespaceId } = args;
  return isObject(namespaceId) && typeof namespaceId["$id"] === "string" ? namespaceId["$id"] : undefined;
}

function pointed(args: Args, renamed: (name: string) => string): Args {
  const on = dependency(args);
  return on === undefined ? args : { ...args, namespaceId: { $id: renamed(on) } };
}

/** Arguments that have to be as they were where a resource is to be the same object. */
const IDENTITY: Readonly<Record<Declared["type"], readonly string[]>> = {
  PageShieldSettings: ["zoneId"],
  PageShieldPolicy: [],
  ManagedRulesetOverride: ["zoneId", "expression"],
  WafMigration: ["zoneId"],
  LogpushJob: [],
  KvNamespace: [],
  KvEntries: ["namespaceId"],
};

/** Arguments that only fit together. */
const TOGETHER: Readonly<Record<Declared["type"], readonly (readonly string[])[]>> = {
  PageShieldSettings: [],
  PageShieldPolicy: [],
  ManagedRulesetOverride: [["ruleset", "version", "owasp", "categories", "rules", "action", "exceptions"]],
  WafMigration: [["target", "configuration"]],
  LogpushJob: [
    ["destination", "destinationConf", "ownershipChallenge"],
    ["zoneId", "accountId", "dataset", "outputOptions", "filter", "kind"],
  ],
  KvNamespace: [],
  KvEntries: [["entries", "file", "directory"]],
};

function changed(world: World, { type, args }: Declared, others: readonly Declared[]): Args {
  const fresh = freshArgs(world, type, args, others);
  const identity = IDENTITY[type];
  const groups = [
    ...TOGETHER[type],
    ...[...new Set([...Object.keys(args), ...Object.keys(fresh)])]
      .filter((name) => !TOGETHER[type].flat().includes(name))
      .map((name) => [name]),
  ];
  const next: Record<string, Value> = {};
  for (const group of groups) {
    const from = group.some((name) => identity.includes(name)) || world.random.chance(0.5) ? args : fresh;
    for (const name of group) {
      const value = from[name];
      if (value !== undefined) next[name] = value;
    }
  }
  return next;
}

function freshArgs(world: World, type: Declared["type"], args: Args, others: readonly Declared[]): Args {
  const { zones, random } = world;
  const zoneId = textOf(args["zoneId"]);
  switch (type) {
    case "PageShieldSettings":
      return settingsArgs(world, zoneId);
    case "PageShieldPolicy":
      return policyArgs(world, random.chance(0.2) ? zones.blog : zoneId);
    case "ManagedRulesetOverride":
      return overrideArgs(world, zoneId, args) ?? args;
    case "WafMigration":
      return migrationArgs(world, zoneOf(zones, zoneId), textOf(args["target"]));
    case "LogpushJob":
      return jobArgs(world, args);
    case "KvNamespace":
      return namespaceArgs(world, args);
    case "KvEntries":
      return entriesArgs(world, others, args) ?? args;
  }
}
