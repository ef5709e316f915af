import { ApiError } from "../api/errors";
import { ID } from "../runtime/fields";
import type { Context } from "../runtime/lifecycle";
import { hasUnknown, UNKNOWN } from "../runtime/engine-values";
import { isJsonObject, sameJson, type JsonObject } from "../basics/json";
import * as declared from "./arguments";
import { isIncomplete, readVersion, rulesetLabel } from "./managed";
import {
  describeRule,
  listRules,
  nearestRules,
  resolvedId,
  ruleIds as ruleIdsSchema,
  rulesNamed,
  type RuleIds,
} from "./rule-names";
import { skippedRuleNames, type RulesetIds } from "./skip";
import { withoutSecrets, type Finding } from "./validate";
import type { ManagedRule, ManagedRuleset } from "./wire";

/**
 * Resolves rules that a declaration names without using their IDs, and detects when a name matches a different rule.
 */

/** The arguments that can refer to rules by name. */
interface Naming {
  readonly rules?: object | undefined;
  readonly exceptions?: declared.Exceptions | undefined;
}

/** A rule that a declaration refers to by name instead of by ID. */
interface RuleName {
  readonly name: string;
  /** The ID of the rule's ruleset. */
  readonly ruleset: string;
  readonly argument: "rules" | "exceptions";
  readonly property: string;
}

/** The rulesets in which rule names are looked up. */
interface Where {
  readonly accountId: string;
  /** The ruleset that's deployed. */
  readonly managed: ManagedRuleset;
  /** The IDs of the rulesets that the exceptions name. */
  readonly rulesetIds: RulesetIds;
}

function ruleNamesIn({ rules = {}, exceptions = [] }: Naming, where?: Where): RuleName[] {
  const [own, rulesets] = [where?.managed.id ?? "", where?.rulesetIds ?? {}];
  const overridden = Object.keys(rules).map((name): RuleName => {
    return { name, ruleset: own, argument: "rules", property: `rules[${JSON.stringify(name)}]` };
  });
  const skipped = exceptions.flatMap(({ skip }, index) =>
    skippedRuleNames(skip, { own, rulesets }).map(({ ruleset, name, path }): RuleName => {
      return { name, ruleset, argument: "exceptions", property: `exceptions[${index}].skip.${path}` };
    }),
  );
  return [...overridden, ...skipped].filter(({ name }) => !ID.is(name));
}

/** Whether arguments refer to a rule by name, or may do so once their values are known. */
export function mayNameRules({ rules, exceptions }: JsonObject): boolean {
  if (rules === UNKNOWN || hasUnknown(exceptions)) return true;
  const { data } = declared.exceptions.safeParse(exceptions);
  return ruleNamesIn({ rules: isJsonObject(rules) ? rules : {}, exceptions: data }).length > 0;
}

/** Returns the rule IDs recorded in inputs or outputs. */
export function recordedRuleIds({ ruleIds }: JsonObject): RuleIds {
  return ruleIdsSchema.safeParse(ruleIds).data ?? {};
}

/** Returns the recorded IDs of the names that a declaration still uses. Undefined if none is recorded. */
export function stillNamed(naming: Naming, recorded: RuleIds): RuleIds | undefined {
  const names = new Set(ruleNamesIn(naming).map(({ name }) => name));
  const kept = Object.entries(recorded)
    .map(([ruleset, ids]) => {
      return [ruleset, Object.fromEntries(Object.entries(ids).filter(([name]) => names.has(name)))] as const;
    })
    .filter(([, ids]) => Object.keys(ids).length > 0);
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/** Whether an ID is recorded for every rule name in a declaration. */
export function isWhollyRecorded(naming: Naming = {}, inputs: JsonObject): boolean {
  const recorded = Object.values(recordedRuleIds(inputs));
  return ruleNamesIn(naming).every(({ name }) => recorded.some((ids) => Object.hasOwn(ids, name)));
}

/** Whether two records have the same rule ID for every name that both contain. */
export function sameMeanings(one: RuleIds, other: RuleIds): boolean {
  return sameJson(mergeRuleIds(one, other), mergeRuleIds(other, one));
}

export const RUN_REFRESH = "run `pulumi refresh` to record the rules that the last update used";

/**
 * Reported if names now match different rules than in the last update. Otherwise, the update would keep rules that the
 * preview doesn't show.
 */
export const OTHER_RULES: Finding = {
  property: "ruleIds",
  reason: `some names now match different rules than in the last update, which ran without live checks. To continue, ${RUN_REFRESH}`,
};

/** Merges two records. If both contain a name, the first record's ID is used. */
export function mergeRuleIds(first: RuleIds, second: RuleIds): RuleIds {
  const rulesets = new Set([...Object.keys(first), ...Object.keys(second)]);
  return Object.fromEntries([...rulesets].map((id) => [id, { ...second[id], ...first[id] }]));
}

/**
 * Finds the IDs of the rules that a declaration names. A recorded ID is kept, even if the rule has been renamed.
 *
 * @returns the IDs, and problems with names that match no rule or several.
 */
export async function resolveRuleNames(
  ctx: Context,
  naming: Naming,
  where: Where,
  recorded: RuleIds,
): Promise<{ readonly ruleIds: RuleIds; readonly unresolved: readonly Finding[] }> {
  const ruleIds: Record<string, Record<string, string>> = {};
  const unresolved: Finding[] = [];
  for (const { name, ruleset: id, argument, property } of ruleNamesIn(naming, where)) {
    const resolve = (rule: string): void => {
      ruleIds[id] = { ...ruleIds[id], [name]: rule };
    };
    const known = resolvedId(recorded, id, name);
    if (known !== undefined) {
      resolve(known);
      continue;
    }
    const ruleset = await rulesetOf(ctx, where, id);
    const matching = rulesNamed(name, ruleset.rules);
    const [rule, ...more] = matching;
    if (rule !== undefined && more.length === 0) resolve(rule.id);
    else
      unresolved.push(
        ctx.isSecret(argument)
          ? { property: argument, reason: WRONG_SECRET }
          : {
              property,
              reason: whyUnresolved(name, matching, ruleset, unresolved.length < MOST_WITH_NEAREST),
            },
      );
  }
  return { ruleIds, unresolved };
}

const WRONG_SECRET =
  "contains a rule name that doesn't match exactly one rule. The name isn't shown, because the argument is secret. Use the rule's ID";

async function rulesetOf(ctx: Context, { accountId, managed }: Where, id: string): Promise<ManagedRuleset> {
  return id === managed.id ? managed : await readVersion(ctx, accountId, id);
}

/** Returns why a name can't be resolved. @param withNearest whether to list similar rules if none matches. */
function whyUnresolved(
  name: string,
  matching: readonly ManagedRule[],
  ruleset: ManagedRuleset,
  withNearest: boolean,
): string {
  const [quoted, where] = [JSON.stringify(name), `${rulesetLabel(ruleset)} in version ${ruleset.version}`];
  if (matching.length > 0)
    return `${quoted} matches ${matching.length} rules of ${where}: ${listRules(matching)}. Add more words from the rule's description, or use its ID`;
  const near = withNearest ? nearestRules(name, ruleset.rules) : [];
  const hint =
    near.length === 0
      ? "List its rules with `getManagedRuleset`"
      : `Nearest: ${listRules(near.slice(0, MOST_NEAREST))}`;
  return `${quoted} matches no rule of ${where}: no description has all of these words. ${hint}`;
}

const MOST_NEAREST = 5;

/**
 * The number of unmatched names for which similar rules are listed. There's a limit because comparing words takes time.
 */
const MOST_WITH_NEAREST = 5;

/** A named rule, and the rules that its name matches now. */
export interface LookedUpRule extends RuleName {
  readonly id: string;
  readonly in: ManagedRuleset;
  /** The rule. Undefined if the ruleset no longer has it. */
  readonly rule: ManagedRule | undefined;
  readonly matches: readonly ManagedRule[];
}

/**
 * Looks up all rules whose names have been resolved to IDs. Leaves out rules that may exist but can't be read.
 */
export async function lookUpRules(
  ctx: Context,
  naming: Naming,
  where: Where,
  ruleIds: RuleIds,
): Promise<readonly LookedUpRule[]> {
  const found: LookedUpRule[] = [];
  for (const each of ruleNamesIn(naming, where)) {
    const id = resolvedId(ruleIds, each.ruleset, each.name);
    if (id === undefined) continue;
    try {
      const ruleset = await rulesetOf(ctx, where, each.ruleset);
      const rule = ruleset.rules.find((one) => one.id === id);
      if (rule === undefined && (isIncomplete(ruleset) || ruleset.rules.length === 0)) continue;
      found.push({ ...each, id, in: ruleset, rule, matches: rulesNamed(each.name, ruleset.rules) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }
  return found;
}

/** Describes the resolved names for the preview: `"920272" is rule 3f… ("920272: …"): score, on by default`. */
export function resolvedInWords(ctx: Context, rules: readonly LookedUpRule[], own: string): string[] {
  const lines = rules.flatMap(({ name, id, in: ruleset, rule, argument }) => {
    if (ctx.isSecret(argument)) return [];
    const where = ruleset.id === own ? "" : ` of ${rulesetLabel(ruleset)}`;
    const what = rule === undefined ? id : describeRule(rule);
    const byDefault = rule === undefined ? "" : `: ${rule.action}, ${rule.enabled ? "on" : "off"} by default`;
    return [`${JSON.stringify(name)} is rule ${what}${where}${byDefault}`];
  });
  return [...new Set(lines)];
}

function goneRule(name: string, id: string, ruleset: ManagedRuleset): string {
  return `${JSON.stringify(name)} was resolved to rule ${id}, which no longer exists in ${rulesetLabel(ruleset)}, so this entry skips nothing. Name another rule, or remove the entry`;
}

/**
 * Reports exceptions for rules that no longer exist, except those of the deployed ruleset, which `validate` reports.
 */
export function goneRules(ctx: Context, rules: readonly LookedUpRule[], own: string): Finding[] {
  const gone = rules.flatMap(({ name, property, id, in: ruleset, rule }): Finding[] =>
    rule === undefined && ruleset.id !== own ? [{ property, reason: goneRule(name, id, ruleset) }] : [],
  );
  return withoutSecrets(ctx, gone);
}
