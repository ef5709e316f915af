import type { StackValidationPolicy } from "@pulumi/policy";
import {
  declaredRulesets,
  protectionOf,
  UNKNOWN_RULESET,
  type DeployedRuleset,
} from "../rulesets/protection";
import { PHASES } from "../rulesets/wire";
import { UNKNOWN } from "../runtime/engine-values";
import { isCloudflare, isEdgeguard, list, member, propsOf, text, type Declared } from "./declared";
import { onZones, zoneOf, type ZonePolicyOptions } from "./zones";

/**
 * Rejects a stack with a zone that has resources but that no managed ruleset protects: no `ManagedRulesetOverride`, no
 * `WafMigration` that goes beyond assessing, and no ruleset from `@pulumi/cloudflare` that executes one. A deployment
 * counts if it's enabled, runs for all requests, and does more than log or check for exposed credentials, and if no
 * exception skips it for all requests. A deployment for the whole account counts for every zone, whatever zones its
 * expression selects.
 *
 * The policy knows only this stack's zones. Rulesets that were deployed in the dashboard or by another stack don't
 * count: list their zones in `exceptZones`.
 *
 * @example Exempt a zone that another stack protects
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { zonesNeedManagedRuleset } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", {
 *   policies: [zonesNeedManagedRuleset({ exceptZones: ["0da42c8d2132a9ddaf714f9e7c920711"] })],
 * });
 * ```
 */
export function zonesNeedManagedRuleset(options: ZonePolicyOptions = {}): StackValidationPolicy {
  return onZones(
    { name: "zones-need-managed-ruleset", description: "A managed ruleset protects every zone." },
    options,
    (own, all) => {
      const forAccount = deployedBy(all.filter(isForAccount));
      // Only the expression of an account's rule says which zones it covers.
      if (protectionOf(forAccount, {}).requests !== "none") return undefined;
      const { requests, lacking } = protectionOf([...forAccount, ...deployedBy(own)], {});
      if (requests === "all" || requests === "unknown") return undefined;
      return {
        lacks: "no managed ruleset protects all of",
        why: lacking.join("; "),
        advice: "Deploy one with a ManagedRulesetOverride for all requests",
      };
    },
  );
}

/** Whether a ruleset is deployed for the whole account. A zone that a preview doesn't know yet is a zone. */
function isForAccount(resource: Declared): boolean {
  const { zoneId } = propsOf(resource);
  return isEdgeguard(resource, "ManagedRulesetOverride")
    ? zoneId === undefined
    : isCloudflare(resource, "Ruleset") &&
        text(resource.props, "accountId") !== undefined &&
        zoneOf(resource) === undefined;
}

function deployedBy(resources: readonly Declared[]): DeployedRuleset[] {
  const overrides = resources.filter(
    (each) => isEdgeguard(each, "ManagedRulesetOverride") && text(each.props, "phase") !== PHASES[1],
  );
  const migrations = resources.filter(
    (each) => isEdgeguard(each, "WafMigration") && text(each.props, "target") !== "assessed",
  );
  const entryPoints = resources.filter(
    (each) => isCloudflare(each, "Ruleset") && text(each.props, "phase") === PHASES[0],
  );
  return [
    ...declaredRulesets(overrides.map(propsOf)),
    // What a migration deploys isn't known to its program.
    ...migrations.map(() => UNKNOWN_RULESET),
    ...entryPoints.flatMap((each) => rulesetsIn(list(propsOf(each), "rules"))),
  ];
}

/** Returns the rulesets that the rules of an entry point execute. */
function rulesetsIn(rules: readonly unknown[]): DeployedRuleset[] {
  return rules.flatMap((rule, index): DeployedRuleset[] => {
    if (text(rule, "action") !== "execute") return [];
    const parameters = member(rule, "actionParameters");
    const overrides = member(parameters, "overrides");
    const id = text(parameters, "id");
    const others = [...list(overrides, "categories"), ...list(overrides, "rules")];
    const enabled = member(rule, "enabled") ?? true;
    const expression = member(rule, "expression") ?? "true";
    return [
      {
        id,
        name: undefined,
        enabled: typeof enabled === "boolean" ? enabled : undefined,
        expression: typeof expression === "string" && expression !== UNKNOWN ? expression : undefined,
        canAct:
          member(overrides, "enabled") !== false || others.some((each) => member(each, "enabled") === true),
        onlyLogs:
          text(overrides, "action") === "log" &&
          others.every((each) => [undefined, "log"].includes(text(each, "action"))),
        skippedFor: rules
          .slice(0, index)
          .filter((each) => text(each, "action") === "skip" && member(each, "enabled") !== false)
          .filter((each) => {
            const skips = member(each, "actionParameters");
            return text(skips, "ruleset") === "current" || list(skips, "rulesets").includes(id);
          })
          .map((each) => text(each, "expression") ?? "true"),
      },
    ];
  });
}
