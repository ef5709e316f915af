import { type Group, type Package, type Rule, vendorPackage } from "./catalog";
import type { ActionMode, OnOff, Override, RuleMode, Sensitivity, WafZone } from "./entities";

/** Turns a zone's previous rules on or off. */
export function changeSetting(waf: WafZone, value: OnOff, now: Date): WafZone {
  return { ...waf, setting: { value, modified_on: now.toISOString() } };
}

export function changeOwasp(
  waf: WafZone,
  change: { sensitivity?: Sensitivity | undefined; action_mode?: ActionMode | undefined },
): WafZone {
  const { sensitivity = waf.owasp.sensitivity, action_mode = waf.owasp.action_mode } = change;
  return { ...waf, owasp: { ...waf.owasp, sensitivity, action_mode } };
}

/** Changes a group's mode. A group with its default mode counts as unchanged. */
export function changeGroup(waf: WafZone, of: Package, group: Group, mode: OnOff): WafZone {
  const kept = mode === group.mode ? undefined : mode;
  return inPackage(waf, of, ({ groups, rules }) => ({ groups: replaced(groups, group.id, kept), rules }));
}

/** Changes a rule's mode. A rule with its default mode counts as unchanged. */
export function changeRule(waf: WafZone, of: Package, rule: Rule, mode: RuleMode): WafZone {
  const kept = mode === (rule.defaultMode === undefined ? "on" : "default") ? undefined : mode;
  return inPackage(waf, of, ({ groups, rules }) => ({ groups, rules: replaced(rules, rule.id, kept) }));
}

export function withOverride(waf: WafZone, override: Override): WafZone {
  const known = waf.overrides.some(({ id }) => id === override.id);
  const others = waf.overrides.map((each) => (each.id === override.id ? override : each));
  return { ...waf, overrides: known ? others : [...waf.overrides, override] };
}

export function withoutOverride(waf: WafZone, id: string): WafZone {
  return { ...waf, overrides: waf.overrides.filter((each) => each.id !== id) };
}

type Changes = WafZone["vendor"];

function inPackage(waf: WafZone, { id }: Package, change: (old: Changes) => Changes): WafZone {
  if (id === vendorPackage.id) return { ...waf, vendor: change(waf.vendor) };
  return { ...waf, owasp: { ...waf.owasp, ...change(waf.owasp) } };
}

function replaced<T>(record: Readonly<Record<string, T>>, id: string, value: T | undefined) {
  const others = Object.entries(record).filter(([key]) => key !== id);
  return Object.fromEntries(value === undefined ? others : [...others, [id, value] as const]);
}
