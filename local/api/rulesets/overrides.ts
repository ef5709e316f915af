import type { ManagedRule, ManagedRuleset, Overrides } from "./entities";
import { type Problem, problems } from "./problems";

/** Returns the problems with a ruleset's overrides. */
export function overrideProblems(overrides: Overrides, ruleset: ManagedRuleset, at: string): Problem[] {
  const { action, enabled, sensitivity_level, categories, rules } = overrides;
  const found: Problem[] = [];
  const members = [action, enabled, sensitivity_level, categories, rules];
  if (members.every((member) => member === undefined)) found.push(problems.overrideEmpty(at));
  found.push(...membersProblems(overrides, ruleset.rules, at));
  found.push(...categoryProblems(categories, ruleset, `${at}/categories`));
  found.push(...ruleProblems(rules, ruleset, `${at}/rules`));
  return found;
}

function categoryProblems(categories: Overrides["categories"], { rules }: ManagedRuleset, at: string) {
  if (categories?.length === 0) return [problems.overrideEmpty(at)];
  return (categories ?? []).flatMap((override, index): Problem[] => {
    const { category, ...changes } = override;
    const pointer = `${at}/${index}`;
    const tagged = rules.filter((rule) => rule.categories.includes(category));
    if (tagged.length === 0) return [problems.categoryUnknown(category, `${pointer}/category`)];
    // The OpenAPI schema requires unique items. Two different entries of a category are fine, and the last one wins.
    const text = JSON.stringify(override);
    const first = categories?.findIndex((other) => JSON.stringify(other) === text);
    return [
      ...(Object.keys(changes).length === 0 ? [problems.overrideEmpty(pointer)] : []),
      ...(first === index ? [] : [problems.overriddenTwice(`category ${category}`, pointer)]),
      ...membersProblems(changes, tagged, pointer),
    ];
  });
}

function ruleProblems(overrides: Overrides["rules"], { rules }: ManagedRuleset, at: string) {
  if (overrides?.length === 0) return [problems.overrideEmpty(at)];
  return (overrides ?? []).flatMap((override, index): Problem[] => {
    const { id, score_threshold, ...changes } = override;
    const pointer = `${at}/${index}`;
    const rule = rules.find((each) => each.id === id);
    if (rule === undefined) return [problems.ruleUnknown(id, `${pointer}/id`)];
    const isEmpty = score_threshold === undefined && Object.keys(changes).length === 0;
    const isFirst = overrides?.findIndex((other) => other.id === id) === index;
    const acceptsThreshold = score_threshold === undefined || rule.score_threshold !== undefined;
    return [
      ...(isEmpty ? [problems.overrideEmpty(pointer)] : []),
      ...(isFirst ? [] : [problems.overriddenTwice(`rule ${id}`, pointer)]),
      ...(acceptsThreshold ? [] : [problems.thresholdNotAllowed(`${pointer}/score_threshold`)]),
      ...membersProblems(changes, [rule], pointer),
    ];
  });
}

/**
 * Returns a problem if none of the rules accepts the action. If some rules accept it, the others keep their own action.
 */
function membersProblems(
  { action, sensitivity_level }: { action?: string | undefined; sensitivity_level?: string | undefined },
  rules: readonly ManagedRule[],
  at: string,
): Problem[] {
  const accepts = (rule: ManagedRule) => rule.allowed_override_actions.some((allowed) => allowed === action);
  return [
    ...(action === undefined || rules.some(accepts)
      ? []
      : [problems.overrideActionNotAllowed(action, `${at}/action`)]),
    ...(sensitivity_level === undefined ? [] : [problems.sensitivityNotAllowed(`${at}/sensitivity_level`)]),
  ];
}
