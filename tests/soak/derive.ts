import {
  declare,
  entriesArgs,
  jobArgs,
  migrationArgs,
  namespaceArgs,
  overrideArgs,
  policyArgs,
  settingsArgs,
  transformerArgs,
  zoneOf,
  type GeneratorContext,
} from "./generate";
import { RENAMED } from "./remedies";
import { isObject, textOf, TYPES, type Args, type Declared, type Program, type Value } from "./program";

/** Makes the next version of a program: changed arguments, and added, removed and renamed resources. */
export function derive(generator: GeneratorContext, { resources }: Program): Program {
  const { random } = generator;
  const mutations = new Map(resources.map((each) => [each.name, pickMutation(generator, each)]));
  // Entries go with their namespace, and jobs with their transformer.
  for (const { name, args } of resources) {
    const on = dependency(args);
    if (on !== undefined && mutations.get(on) === "removed") mutations.set(name, "removed");
  }
  const next: Declared[] = [];
  for (const each of resources) {
    const mutation = mutations.get(each.name);
    if (mutation === "removed") continue;
    const args = mutation === "changed" ? changedArgs(generator, each, next) : each.args;
    next.push({ ...each, args, ...(mutation === "renamed" ? { name: `${each.name}${RENAMED}` } : {}) });
  }
  for (let more = random.int(0, 2); more > 0 && next.length < 8; more -= 1) {
    const added = declare(generator, random.pick(TYPES), next);
    if (added !== undefined) next.push(added);
  }
  const renamed = (name: string): string => (mutations.get(name) === "renamed" ? `${name}${RENAMED}` : name);
  return {
    resources: next.map((each) => ({ ...each, args: renameDependency(each.args, renamed) })),
    files: { ...generator.files },
  };
}

type Mutation = "same" | "changed" | "removed" | "renamed";

function pickMutation({ random }: GeneratorContext, { args }: Declared): Mutation {
  const mutation = random.pick<Mutation>([
    "same",
    "changed",
    "changed",
    "changed",
    "changed",
    "removed",
    "renamed",
  ]);
  // A destroy would leave it in place, with nothing to compare.
  const stays = args["onDestroy"] === "keep";
  if (stays && (mutation === "removed" || mutation === "renamed")) return "same";
  return mutation;
}

/** The arguments that are another resource's ID. */
const DEPENDENCIES = ["namespaceId", "transformerId"];

/** The namespace resource that entries are in, or the transformer resource that a job uses. */
export function dependency(args: Args): string | undefined {
  return DEPENDENCIES.map((name) => args[name]).flatMap((given) =>
    isObject(given) && typeof given["$id"] === "string" ? [given["$id"]] : [],
  )[0];
}

function renameDependency(args: Args, renamed: (name: string) => string): Args {
  const on = dependency(args);
  if (on === undefined) return args;
  const name = DEPENDENCIES.find((each) => isObject(args[each])) ?? "";
  return { ...args, [name]: { $id: renamed(on) } };
}

/** Arguments that identify the object. */
const IDENTITY: Readonly<Record<Declared["type"], readonly string[]>> = {
  PageShieldSettings: ["zoneId"],
  PageShieldPolicy: [],
  ManagedRulesetOverride: ["zoneId", "expression"],
  WafMigration: ["zoneId"],
  LogpushTransformer: [],
  LogpushJob: [],
  KvNamespace: [],
  KvEntries: ["namespaceId"],
};

/** Arguments that are valid only together. */
const GROUPS: Readonly<Record<Declared["type"], readonly (readonly string[])[]>> = {
  PageShieldSettings: [],
  PageShieldPolicy: [],
  ManagedRulesetOverride: [["ruleset", "version", "owasp", "categories", "rules", "action", "exceptions"]],
  WafMigration: [["target", "configuration"]],
  LogpushTransformer: [],
  LogpushJob: [
    ["destination", "destinationConf", "ownershipChallenge"],
    ["zoneId", "accountId", "dataset", "outputOptions", "filter", "kind", "transformerId"],
  ],
  KvNamespace: [],
  KvEntries: [["entries", "file", "directory"]],
};

function changedArgs(
  generator: GeneratorContext,
  { type, args }: Declared,
  others: readonly Declared[],
): Args {
  const fresh = freshArgs(generator, type, args, others);
  const identity = IDENTITY[type];
  const groups = [
    ...GROUPS[type],
    ...[...new Set([...Object.keys(args), ...Object.keys(fresh)])]
      .filter((name) => !GROUPS[type].flat().includes(name))
      .map((name) => [name]),
  ];
  const next: Record<string, Value> = {};
  for (const group of groups) {
    const from = group.some((name) => identity.includes(name)) || generator.random.chance(0.5) ? args : fresh;
    for (const name of group) {
      const value = from[name];
      if (value !== undefined) next[name] = value;
    }
  }
  return next;
}

function freshArgs(
  generator: GeneratorContext,
  type: Declared["type"],
  args: Args,
  others: readonly Declared[],
): Args {
  const { zones, random } = generator;
  const zoneId = textOf(args["zoneId"]);
  switch (type) {
    case "PageShieldSettings":
      return settingsArgs(generator, zoneId);
    case "PageShieldPolicy":
      return policyArgs(generator, random.chance(0.2) ? zones.blog : zoneId);
    case "ManagedRulesetOverride":
      return overrideArgs(generator, zoneId, args) ?? args;
    case "WafMigration":
      return migrationArgs(generator, zoneOf(zones, zoneId), textOf(args["target"]));
    case "LogpushTransformer":
      return transformerArgs(generator, args);
    case "LogpushJob":
      return jobArgs(generator, others, args);
    case "KvNamespace":
      return namespaceArgs(generator, args);
    case "KvEntries":
      return entriesArgs(generator, others, args) ?? args;
  }
}
