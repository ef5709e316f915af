import type { Dialect } from "../options";
import { type EntryPoint, type ManagedRule, type ManagedRuleset, PHASE, type ZoneRule } from "./entities";

/**
 * Properties that all rulesets have. Cloudflare's guides show `source`. The OpenAPI schema allows it, but doesn't list
 * it.
 */
const common = { source: "firewall_managed" };

/** Converts a ruleset to its form in a list. */
function rulesetToWire({ id, name, description, version, last_updated, phase }: ManagedRuleset | EntryPoint) {
  return { id, name, description, version: String(version), last_updated, phase: phase ?? PHASE, ...common };
}

export function managedToWire(ruleset: ManagedRuleset) {
  return { ...rulesetToWire(ruleset), kind: "managed" };
}

export function managedDetailToWire(ruleset: ManagedRuleset, dialect: Dialect) {
  return { ...managedToWire(ruleset), rules: ruleset.rules.map((rule) => managedRuleToWire(rule, dialect)) };
}

export function entryPointToWire(entryPoint: EntryPoint) {
  return { ...rulesetToWire(entryPoint), kind: entryPoint.kind ?? "zone" };
}

export function entryPointDetailToWire(entryPoint: EntryPoint) {
  return { ...entryPointToWire(entryPoint), rules: entryPoint.rules.map(zoneRuleToWire) };
}

function zoneRuleToWire(rule: ZoneRule) {
  return { ...rule, version: String(rule.version) };
}

function managedRuleToWire(rule: ManagedRule, dialect: Dialect) {
  const { id, version, action, categories, description, last_updated, ref, enabled } = rule;
  return {
    id,
    version: String(version),
    action,
    ...actionParameters(rule),
    ...(categories.length === 0 ? {} : { categories }),
    description,
    last_updated,
    ref,
    enabled,
    allowed_override_actions: rule.allowed_override_actions,
    ...(rule.score_threshold === undefined ? {} : { score_threshold: rule.score_threshold }),
    // The OpenAPI schema requires an expression, but Cloudflare's guides show managed rules without one.
    ...(dialect === "openapi" ? { expression: "true" } : {}),
  };
}

function actionParameters({ action, increment }: ManagedRule) {
  if (action === "score") return { action_parameters: { increment } };
  if (action !== "rewrite") return {};
  const headers = { "Exposed-Credential-Check": { operation: "set", value: "1" } };
  return { action_parameters: { headers } };
}
