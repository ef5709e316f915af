import type { Context } from "../runtime/lifecycle";
import { firstOf } from "../basics/words";
import { nearest } from "../basics/nearest";
import type { DeclaredOverrides, Exceptions } from "./arguments";
import { acceptsAction } from "./effective";
import { rulesetLabel } from "./managed";
import { LEVELS, levelOf, paranoiaTag, scoreRuleOf } from "./overrides";
import { listRules, ruleIdOf, rulesNamed, type RuleIds } from "./rule-names";
import type { ManagedRule, ManagedRuleset } from "./wire";

type Validated = DeclaredOverrides & {
  readonly exceptions?: Exceptions | undefined;
  /** The IDs of the rules that are declared by name. */
  readonly ruleIds?: RuleIds | undefined;
};

/** A problem with an argument. */
export interface Finding {
  readonly property: string;
  readonly reason: string;
}

/** Replaces problems with secret arguments, so that they don't reveal names or rules. */
export function withoutSecrets(ctx: Pick<Context, "isSecret">, findings: readonly Finding[]): Finding[] {
  const shown = findings.map((finding): Finding => {
    const argument = /^\w*/.exec(finding.property)?.[0] ?? "";
    return ctx.isSecret(argument) ? { property: argument, reason: WRONG_SECRET } : finding;
  });
  return [...new Map(shown.map((finding) => [JSON.stringify(finding), finding])).values()];
}

const WRONG_SECRET =
  "has a setting that this ruleset doesn't accept. It isn't shown, because the argument is secret";

function findingIf(isWrong: boolean, property: string, reason: string): Finding[] {
  return isWrong ? [{ property, reason }] : [];
}

/** Returns the categories that contradict `owasp` in any ruleset. */
export function contradictions({ owasp, categories = [] }: DeclaredOverrides): Finding[] {
  if (owasp === undefined) return [];
  const { paranoiaLevel } = owasp;
  return categories.flatMap(({ tag, enabled, action }, index): Finding[] => {
    const level = levelOf(tag);
    if (level === undefined) return [];
    const isOff = level > paranoiaLevel;
    const against = isOff ? enabled === true || action !== undefined : enabled === false;
    const setting = enabled === undefined ? `action: ${JSON.stringify(action)}` : `enabled: ${enabled}`;
    const reason = `contradicts owasp.paranoiaLevel: level ${paranoiaLevel} ${isOff ? "turns off" : "needs"} the tag ${JSON.stringify(tag)}, but this entry sets ${setting}. Change the level or remove the entry`;
    return findingIf(against, `categories[${index}]`, reason);
  });
}

/** Returns what's wrong with a declaration, given its ruleset. */
export function validate(declared: Validated, managed: ManagedRuleset): Finding[] {
  return [
    ...contradictions(declared),
    ...validateOwasp(declared, managed),
    ...validateCategories(declared, managed),
    ...validateRules(declared, managed),
    ...validateAction(declared.action, "action", managed.rules, `the rules of ${rulesetLabel(managed)}`),
    ...validateExceptions(declared, managed),
  ];
}

/** Validates the exceptions' rules, except those of other rulesets. */
function validateExceptions({ exceptions = [], ruleIds }: Validated, managed: ManagedRuleset): Finding[] {
  return exceptions.flatMap(({ skip }, index) => {
    const byRuleset = typeof skip === "object" && "rules" in skip ? Object.entries(skip.rules) : [];
    return byRuleset
      .filter(([name]) => ["this", managed.id, managed.name].includes(name))
      .flatMap(([name, ids]) =>
        ids.flatMap((id, at) => {
          const wrong = unknownRule(id, ruleIds, managed);
          const property = `exceptions[${index}].skip.rules["${name}"][${at}]`;
          return findingIf(wrong !== undefined, property, `${id}: ${wrong ?? ""}`);
        }),
      );
  });
}

/** Returns an error message if the ruleset doesn't have the rule. Otherwise undefined. */
function unknownRule(name: string, ruleIds: RuleIds = {}, managed: ManagedRuleset): string | undefined {
  const ids = managed.rules.map((rule) => rule.id);
  const id = ruleIdOf(ruleIds, managed.id, name);
  if (ids.includes(id)) return undefined;
  if (id !== name) {
    const matching = rulesNamed(name, managed.rules);
    const hint =
      matching.length === 0
        ? "Name another rule"
        : `The name now matches ${listRules(matching)}. Declare the ID of the rule that you mean`;
    return `was resolved to rule ${id}, which version ${managed.version} of ${rulesetLabel(managed)} doesn't have. ${hint}, or remove the entry`;
  }
  const near = nearest(id, ids);
  const hint = near === undefined ? "List its rules with `getManagedRuleset`" : `Did you mean "${near}"?`;
  return `${rulesetLabel(managed)} has no such rule. ${hint}`;
}

function validateOwasp({ owasp, rules = {}, ruleIds = {} }: Validated, managed: ManagedRuleset): Finding[] {
  if (owasp === undefined) return [];
  const scoreRule = managed.rules.find(({ id }) => id === scoreRuleOf(managed));
  const hasLevels = LEVELS.some((level) =>
    managed.rules.some(({ tags }) => tags.includes(paranoiaTag(level))),
  );
  if (!hasLevels || scoreRule === undefined) {
    const reason = `${rulesetLabel(managed)} has no paranoia levels, and owasp works only with the OWASP Core Ruleset. Use categories, rules and action instead`;
    return [{ property: "owasp", reason }];
  }
  const [name, own] = Object.entries(rules).find(
    ([each]) => ruleIdOf(ruleIds, managed.id, each) === scoreRule.id,
  ) ?? [scoreRule.id, {}];
  const property = `rules[${JSON.stringify(name)}]`;
  const contradicts = (member: "action" | "scoreThreshold"): Finding[] =>
    findingIf(
      owasp[member] !== undefined && own[member] !== undefined && owasp[member] !== own[member],
      `${property}.${member}`,
      `contradicts owasp.${member}: this rule compares the score, and this entry sets ${String(own[member])}, but owasp sets ${String(owasp[member])}. Remove one of the two settings`,
    );
  return [
    ...validateAction(
      owasp.action,
      "owasp.action",
      [scoreRule],
      `the rule that compares the score, ${scoreRule.id},`,
    ),
    ...contradicts("action"),
    ...contradicts("scoreThreshold"),
    ...findingIf(
      own.enabled === false,
      `${property}.enabled`,
      "contradicts owasp: this rule compares the score, and without it the ruleset never acts. Remove this setting. To turn off the whole deployment, set the resource's own enabled to false",
    ),
  ];
}

function validateCategories({ categories = [] }: DeclaredOverrides, managed: ManagedRuleset): Finding[] {
  const tags = [...new Set(managed.rules.flatMap((rule) => rule.tags))].sort();
  return categories.flatMap(({ tag, action }, index): Finding[] => {
    const property = `categories[${index}]`;
    const which = JSON.stringify(tag);
    const tagged = managed.rules.filter((rule) => rule.tags.includes(tag));
    if (tagged.length > 0)
      return validateAction(
        action,
        `${property}.action`,
        tagged,
        `the ${tagged.length === 1 ? "rule" : "rules"} tagged ${which}`,
      );
    const reason = `${rulesetLabel(managed)} has no rule with the tag ${which}. ${tagHint(tag, tags)}`;
    return [{ property: `${property}.tag`, reason }];
  });
}

function validateRules({ rules = {}, ruleIds = {} }: Validated, managed: ManagedRuleset): Finding[] {
  const scoreRule = scoreRuleOf(managed);
  const where = scoreRule === undefined ? "" : ` (${scoreRule})`;
  const idOf = (name: string): string => ruleIdOf(ruleIds, managed.id, name);
  return Object.entries(rules).flatMap(([name, { action, scoreThreshold }], index): Finding[] => {
    const id = idOf(name);
    const property = `rules[${JSON.stringify(name)}]`;
    const rule = managed.rules.find((each) => each.id === id);
    if (rule === undefined) return [{ property, reason: unknownRule(name, ruleIds, managed) ?? "" }];
    const which = JSON.stringify(rule.description);
    const first = Object.keys(rules).findIndex((each) => idOf(each) === id);
    if (first !== index) {
      const other = JSON.stringify(Object.keys(rules)[first]);
      return [
        {
          property,
          reason: `is rule ${id} (${which}), which rules[${other}] also overrides. Merge the two entries`,
        },
      ];
    }
    return [
      ...validateAction(action, `${property}.action`, [rule], `rule ${which}`),
      ...findingIf(
        scoreThreshold !== undefined && rule.scoreThreshold === undefined && id !== scoreRule,
        `${property}.scoreThreshold`,
        `only the rule that compares the score with the threshold${where} accepts scoreThreshold, and ${which} isn't that rule. Remove scoreThreshold`,
      ),
    ];
  });
}

/** Reports an action that none of the rules accepts. If only some do, the others keep their own action. */
function validateAction(
  action: string | undefined,
  property: string,
  rules: readonly ManagedRule[],
  which: string,
): Finding[] {
  if (action === undefined || rules.some((rule) => acceptsAction(rule, action))) return [];
  const allowed = [...new Set(rules.flatMap(({ allowedActions = [] }) => allowedActions))].sort();
  const instead =
    allowed.length === 0
      ? `${rules.length === 1 ? "This rule only adds" : "These rules only add"} to the score. Instead, set owasp.action, which applies to the rule that compares the score`
      : `Allowed: ${allowed.join(", ")}`;
  const verb = rules.length === 1 ? "doesn't" : "don't";
  return [{ property, reason: `${which} ${verb} accept the action ${JSON.stringify(action)}. ${instead}` }];
}

const SHOWN_TAGS = 40;

function tagHint(tag: string, tags: readonly string[]): string {
  if (tags.length === 0) return "Its rules have no tags";
  const near = nearest(tag, tags);
  return near === undefined
    ? `Its tags: ${firstOf(tags, SHOWN_TAGS)}`
    : `Did you mean ${JSON.stringify(near)}?`;
}
