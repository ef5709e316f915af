import type { ExecuteParameters, SkipParameters } from "../rulesets/entities";
import { managedRulesets, OWASP_SCORE_RULE } from "../rulesets/ids";
import { type Group, type Rule, vendorPackage } from "./catalog";
import type { ActionMode, PageRule, RuleMode, Sensitivity, WafZone } from "./entities";
import { anyOf, expressionOf } from "./expressions";

/** A rule in the proposed configuration, which is equivalent to the zone's current settings. */
export type ProposedRule = { expression: string; description: string; enabled: boolean } & (
  | { action: "execute"; action_parameters: ExecuteParameters }
  | { action: "skip"; action_parameters: SkipParameters }
);

/** Cloudflare's documented conversion of the OWASP package's sensitivity. A package that's off isn't deployed. */
const sensitivities: Record<
  Exclude<Sensitivity, "off">,
  { paranoiaLevel: 1 | 2; scoreThreshold: 25 | 40 }
> = {
  high: { paranoiaLevel: 2, scoreThreshold: 40 },
  medium: { paranoiaLevel: 1, scoreThreshold: 25 },
  low: { paranoiaLevel: 1, scoreThreshold: 40 },
  default: { paranoiaLevel: 2, scoreThreshold: 40 },
};

/** The new action for each previous action. Simulate becomes `log`; block and challenge stay the same. */
const actions: Record<ActionMode, "block" | "challenge" | "log"> = {
  block: "block",
  challenge: "challenge",
  simulate: "log",
};

const paranoiaLevels = [1, 2, 3, 4] as const;

/**
 * Returns the new rules that are equivalent to a zone's previous ones. Exceptions come first, because they act on the
 * rules after them. Changed OWASP groups and rules aren't carried over.
 */
export function equivalent(zone: WafZone): ProposedRule[] {
  const where = executedWhere(zone);
  return [...bypasses(zone), ...switchedOff(zone), vendorRule(zone, where), ...owaspRule(zone, where)];
}

type Where = Pick<ProposedRule, "expression" | "enabled">;

function vendorRule({ vendor }: WafZone, where: Where): ProposedRule {
  const categories = vendorPackage.groups.flatMap((group) =>
    categoryOverride(group, vendor.groups[group.id]),
  );
  const rules = vendorPackage.rules.flatMap((rule) => ruleOverride(rule, vendor.rules[rule.id]));
  const overrides = {
    ...(categories.length === 0 ? {} : { categories }),
    ...(rules.length === 0 ? {} : { rules }),
  };
  const changed = Object.keys(overrides).length > 0;
  const action_parameters = { id: managedRulesets.managed, ...(changed ? { overrides } : {}) };
  return { action: "execute", action_parameters, description: "", ...where };
}

function owaspRule({ owasp }: WafZone, where: Where): ProposedRule[] {
  if (owasp.sensitivity === "off") return [];
  const { paranoiaLevel, scoreThreshold } = sensitivities[owasp.sensitivity];
  const overrides = {
    categories: paranoiaLevels
      .filter((level) => level > paranoiaLevel)
      .map((level) => ({ category: `paranoia-level-${level}`, enabled: false })),
    rules: [{ id: OWASP_SCORE_RULE, action: actions[owasp.action_mode], score_threshold: scoreThreshold }],
  };
  const action_parameters = { id: managedRulesets.owasp, overrides };
  return [{ action: "execute", action_parameters, description: "", ...where }];
}

function categoryOverride(group: Group, mode: Group["mode"] | undefined) {
  if (mode === undefined || mode === group.mode || group.category === undefined) return [];
  return [{ category: group.category, enabled: mode === "on" }];
}

function ruleOverride(rule: Rule, mode: RuleMode | undefined) {
  if (mode === undefined || rule.successor === undefined) return [];
  const id = rule.successor;
  if (mode === "disable") return [{ id, enabled: false }];
  return mode === "block" || mode === "challenge" || mode === "simulate"
    ? [{ id, action: actions[mode], enabled: true }]
    : [];
}

/**
 * Returns the expression for the requests on which the new rules run. If the zone's rules are off, a page rule can turn
 * them on.
 */
function executedWhere({ setting, pageRules }: WafZone): Where {
  if (setting.value === "on") return { expression: "true", enabled: true };
  const on = switches(pageRules, "on").map(expressionOf);
  return on.length === 0 ? { expression: "true", enabled: false } : { expression: anyOf(on), enabled: true };
}

function switchedOff({ setting, pageRules }: WafZone): ProposedRule[] {
  if (setting.value === "off") return [];
  return switches(pageRules, "off").map((url) =>
    exception(expressionOf(url), `Page rule: managed rules off on ${url}`, true),
  );
}

/**
 * Returns the URLs of the active page rules that turn the managed rules on or off. Ignores that a page rule with a
 * higher priority can do the opposite for some of the same requests.
 */
function switches(pageRules: readonly PageRule[], to: "on" | "off"): string[] {
  const turns = ({ id, value }: PageRule["actions"][number]) =>
    (id === "waf" && value === to) || (id === "disable_security" && to === "off");
  return pageRules
    .filter(({ status, actions: list }) => status === "active" && list.some(turns))
    .sort((a, b) => b.priority - a.priority)
    .map(({ url }) => url);
}

/** Returns the firewall rules that bypass the managed rules. */
export function bypassing({ firewallRules }: Pick<WafZone, "firewallRules">) {
  return firewallRules.filter(
    ({ action, products }) => action === "bypass" && products?.includes("waf") === true,
  );
}

function bypasses(zone: WafZone): ProposedRule[] {
  return bypassing(zone).map(({ expression, paused, description }) =>
    exception(expression, `Firewall rule: ${description}`, !paused),
  );
}

function exception(expression: string, description: string, enabled: boolean): ProposedRule {
  return { action: "skip", action_parameters: { ruleset: "current" }, expression, description, enabled };
}
