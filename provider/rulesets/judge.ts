import { nearest } from "../runtime/nearest";
import type { DeclaredOverrides, Exceptions } from "./arguments";
import { takes } from "./effective";
import { LEVELS, levelOf, paranoiaTag, scoreRuleOf } from "./overrides";
import type { ManagedRule, ManagedRuleset } from "./wire";

type Judged = DeclaredOverrides & { readonly exceptions?: Exceptions | undefined };

export interface Finding {
  readonly property: string;
  readonly reason: string;
}

/** The finding, where something is wrong. */
function when(isWrong: boolean, property: string, reason: string): Finding[] {
  return isWrong ? [{ property, reason }] : [];
}

/** What is wrong with a declaration by itself: words of `owasp` against categories that say otherwise. */
export function contradictions({ owasp, categories = [] }: DeclaredOverrides): Finding[] {
  if (owasp === undefined) return [];
  const { paranoiaLevel } = owasp;
  return categories.flatMap(({ tag, enabled, action }, index): Finding[] => {
    const level = levelOf(tag);
    if (level === undefined) return [];
    const isOff = level > paranoiaLevel;
    const against = isOff ? enabled === true || action !== undefined : enabled === false;
    const says = enabled === undefined ? `action: ${JSON.stringify(action)}` : `enabled: ${enabled}`;
    const reason =
      `contradicts owasp.paranoiaLevel: level ${paranoiaLevel} ${isOff ? "switches off" : "needs"} the tag ${JSON.stringify(tag)}, and this entry says ${says}. ` +
      "Change the level, or take the entry out";
    return when(against, `categories[${index}]`, reason);
  });
}

/** What is wrong with a declaration for this ruleset. Each sentence names the property, what was given and what there is. */
export function judge(declared: Judged, managed: ManagedRuleset): Finding[] {
  return [
    ...contradictions(declared),
    ...judgeOwasp(declared, managed),
    ...judgeCategories(declared, managed),
    ...judgeRules(declared, managed),
    ...judgeAction(declared.action, "action", managed.rules, `rules of ${named(managed)}`),
    ...judgeExceptions(declared, managed),
  ];
}

/** Rules of other rulesets are left to Cloudflare. */
function judgeExceptions({ exceptions = [] }: Judged, managed: ManagedRuleset): Finding[] {
  return exceptions.flatMap(({ skip }, index) => {
    const byRuleset = typeof skip === "object" && "rules" in skip ? Object.entries(skip.rules) : [];
    return byRuleset
      .filter(([name]) => ["this", managed.id, managed.name].includes(name))
      .flatMap(([name, ids]) =>
        ids.flatMap((id, at) => {
          const wrong = unknownRule(id, managed);
          const property = `exceptions[${index}].skip.rules["${name}"][${at}]`;
          return when(wrong !== undefined, property, `${id}: ${wrong ?? ""}`);
        }),
      );
  });
}

/** Why there is no such rule, with the nearest one; undefined where there is. */
function unknownRule(id: string, managed: ManagedRuleset): string | undefined {
  const ids = managed.rules.map((rule) => rule.id);
  if (ids.includes(id)) return undefined;
  const near = nearest(id, ids);
  const hint = near === undefined ? "`getManagedRuleset` lists its rules" : `Did you mean "${near}"?`;
  return `${named(managed)} has no such rule. ${hint}`;
}

function judgeOwasp({ owasp, rules = {} }: DeclaredOverrides, managed: ManagedRuleset): Finding[] {
  if (owasp === undefined) return [];
  const scoreRule = managed.rules.find(({ id }) => id === scoreRuleOf(managed));
  const hasLevels = LEVELS.some((level) =>
    managed.rules.some(({ tags }) => tags.includes(paranoiaTag(level))),
  );
  if (!hasLevels || scoreRule === undefined) {
    const reason = `${named(managed)} has no paranoia levels: owasp is for the OWASP core ruleset; use categories, rules and action`;
    return [{ property: "owasp", reason }];
  }
  const own = rules[scoreRule.id] ?? {};
  const property = `rules["${scoreRule.id}"]`;
  const contradicts = (member: "action" | "scoreThreshold"): Finding[] =>
    when(
      owasp[member] !== undefined && own[member] !== undefined && owasp[member] !== own[member],
      `${property}.${member}`,
      `contradicts owasp.${member}: this is the rule that compares the score, one says ${String(own[member])}, the other ${String(owasp[member])}. Keep one`,
    );
  return [
    ...judgeAction(owasp.action, "owasp.action", [scoreRule], `the last rule, ${scoreRule.id}`),
    ...contradicts("action"),
    ...contradicts("scoreThreshold"),
    ...when(
      own.enabled === false,
      `${property}.enabled`,
      "contradicts owasp: this is the rule that compares the score, and without it the ruleset never acts. Take one of them out; to switch the deployment off, set enabled: false",
    ),
  ];
}

function judgeCategories({ categories = [] }: DeclaredOverrides, managed: ManagedRuleset): Finding[] {
  const tags = [...new Set(managed.rules.flatMap((rule) => rule.tags))].sort();
  return categories.flatMap(({ tag, action }, index): Finding[] => {
    const property = `categories[${index}]`;
    const which = JSON.stringify(tag);
    const tagged = managed.rules.filter((rule) => rule.tags.includes(tag));
    if (tagged.length > 0) return judgeAction(action, `${property}.action`, tagged, `rules tagged ${which}`);
    const reason = `no rule of ${named(managed)} has the tag ${which}. ${meant(tag, tags)}`;
    return [{ property: `${property}.tag`, reason }];
  });
}

function judgeRules({ rules = {} }: DeclaredOverrides, managed: ManagedRuleset): Finding[] {
  const last = scoreRuleOf(managed);
  const here = last === undefined ? "" : `, here ${last}`;
  return Object.entries(rules).flatMap(([id, { action, scoreThreshold }]): Finding[] => {
    const property = `rules["${id}"]`;
    const rule = managed.rules.find((each) => each.id === id);
    if (rule === undefined) return [{ property, reason: unknownRule(id, managed) ?? "" }];
    const which = JSON.stringify(rule.description);
    return [
      ...judgeAction(action, `${property}.action`, [rule], `rule ${which}`),
      ...when(
        scoreThreshold !== undefined && rule.scoreThreshold === undefined && id !== last,
        `${property}.scoreThreshold`,
        `only the rule that compares the score takes a threshold${here}; this is ${which}`,
      ),
    ];
  });
}

/** An action is wrong where none of the rules takes it: those that do not keep their own. */
function judgeAction(
  action: string | undefined,
  property: string,
  rules: readonly ManagedRule[],
  which: string,
): Finding[] {
  if (action === undefined || rules.some((rule) => takes(rule, action))) return [];
  const allowed = [...new Set(rules.flatMap(({ allowedActions = [] }) => allowedActions))].sort();
  const instead =
    allowed.length === 0
      ? "They only add to the score: set owasp.action, which is what the last rule does"
      : `What can be set: ${allowed.join(", ")}`;
  const verb = rules.length === 1 ? "does" : "do";
  return [{ property, reason: `${which} ${verb} not take the action ${JSON.stringify(action)}. ${instead}` }];
}

const SHOWN_TAGS = 40;

function meant(tag: string, tags: readonly string[]): string {
  const near = nearest(tag, tags);
  const some = tags.slice(0, SHOWN_TAGS).join(", ");
  if (near === undefined) return `Its tags: ${some}${tags.length > SHOWN_TAGS ? ", …" : ""}`;
  return `Did you mean ${JSON.stringify(near)}?`;
}

function named({ name, id }: ManagedRuleset): string {
  return name === "" ? `ruleset ${id}` : JSON.stringify(name);
}
