import { idFrom } from "../rulesets/ids";
import type { Zone } from "../state";
import { actingModes, type Group, type Package, type Rule, scoringModes, vendorPackage } from "./catalog";
import type { FirewallRule, OnOff, PageRule, Phase, RuleMode, WafZone } from "./entities";
import type { WafSettings } from "./settings";

/** Returns a zone's changes to a package. */
function changesOf(waf: WafZone, { id }: Package): WafZone["vendor"] {
  return id === vendorPackage.id ? waf.vendor : waf.owasp;
}

function modeOfGroup(waf: WafZone, of: Package, group: Group): OnOff {
  return changesOf(waf, of).groups[group.id] ?? group.mode;
}

function modeOfRule(waf: WafZone, of: Package, rule: Rule): RuleMode {
  return changesOf(waf, of).rules[rule.id] ?? (rule.defaultMode === undefined ? "on" : "default");
}

export function packageToWire(of: Package, zone: Zone, waf: WafZone) {
  const { id, name, description, detection_mode } = of;
  const common = { id, name, description, zone_id: zone.id, detection_mode, status: "active" };
  if (detection_mode === "traditional") return common;
  return { ...common, sensitivity: waf.owasp.sensitivity, action_mode: waf.owasp.action_mode };
}

export function groupToWire(group: Group, of: Package, waf: WafZone) {
  const { id, name, description } = group;
  const rules = of.rules.filter((rule) => rule.group.id === id);
  const changes = changesOf(waf, of);
  return {
    id,
    name,
    description,
    mode: modeOfGroup(waf, of, group),
    allowed_modes: scoringModes,
    rules_count: rules.length,
    modified_rules_count: rules.filter((rule) => changes.rules[rule.id] !== undefined).length,
    package_id: of.id,
  };
}

export function ruleToWire(rule: Rule, of: Package, waf: WafZone) {
  const { id, description, priority, group, defaultMode } = rule;
  return {
    id,
    description,
    priority,
    package_id: of.id,
    group: { id: group.id, name: group.name },
    mode: modeOfRule(waf, of, rule),
    allowed_modes: defaultMode === undefined ? scoringModes : actingModes,
    ...(defaultMode === undefined ? {} : { default_mode: defaultMode }),
  };
}

export function firewallRuleToWire({ priority, expression, ...rest }: FirewallRule) {
  const filter = { id: idFrom("filter", rest.id), expression, paused: false };
  const common = { ...rest, filter, modified_on: rest.created_on };
  return priority === null ? common : { ...common, priority };
}

export function pageRuleToWire({ url, ...rest }: PageRule) {
  return {
    ...rest,
    modified_on: rest.created_on,
    targets: [{ target: "url", constraint: { operator: "matches", value: url } }],
  };
}

/**
 * Converts a migration's status to a response. Cloudflare doesn't document its properties, so their names, values and
 * the states in between are settings.
 */
export function statusToWire(phase: Phase, settings: WafSettings) {
  const { stateNames, statusMembers, statusValues, pendingShows } = settings;
  const words = { words: ["enabled", "disabled"], onOff: ["on", "off"], boolean: [true, false] } as const;
  const [enabled, disabled] = words[statusValues];
  const both = phase === "validation" || (phase === "pending" && pendingShows === "both");
  return {
    [statusMembers.state]: stateNames[phase],
    [statusMembers.previous]: phase === "finished" ? disabled : enabled,
    [statusMembers.next]: phase === "finished" || both ? enabled : disabled,
  };
}
