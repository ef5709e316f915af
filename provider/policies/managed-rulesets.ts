import type { StackValidationPolicy } from "@pulumi/policy";
import {
  declaredRulesets,
  protectionOf,
  UNKNOWN_RULESET,
  type DeployedRuleset,
} from "../rulesets/protection";
import { PHASES } from "../rulesets/wire";
import { isJsonObject, type JsonObject } from "../basics/json";
import { UNKNOWN } from "../runtime/engine-values";
import { isCloudflare, isEdgeguard, list, member, text, withUnknowns, type Declared } from "./declared";
import { onStack, type PolicyOptions, type Violation } from "./define";

/** Options of {@link zonesNeedManagedRuleset}. */
export interface ManagedRulesetPolicyOptions extends PolicyOptions {
  /**
   * IDs of zones that don't need a managed ruleset, such as a zone that another stack protects. The pack's
   * configuration overrides it.
   *
   * @defaultValue `[]`
   */
  readonly exceptZones?: readonly string[];
}

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
export function zonesNeedManagedRuleset({
  enforcementLevel,
  exceptZones = [],
}: ManagedRulesetPolicyOptions = {}): StackValidationPolicy {
  return onStack(
    {
      name: "zones-need-managed-ruleset",
      description: "A managed ruleset protects every zone.",
      enforcementLevel,
    },
    {
      schema: { exceptZones: { type: "array", items: { type: "string" }, default: [...exceptZones] } },
      values: { exceptZones },
    },
    (resources, config) => unprotectedZones(resources, config.exceptZones),
  );
}

function unprotectedZones(resources: readonly Declared[], except: readonly string[]): Violation[] {
  const forAccount = deployedBy(resources.filter(isForAccount));
  // Only the expression of an account's rule says which zones it covers.
  if (protectionOf(forAccount, {}).requests !== "none") return [];
  const byZone = new Map<string, Declared[]>();
  // Sorted, because the order of registration differs from run to run.
  for (const resource of [...resources].sort((one, other) => (one.urn < other.urn ? -1 : 1))) {
    const zone = zoneOf(resource);
    if (zone !== undefined) byZone.set(zone, [...(byZone.get(zone) ?? []), resource]);
  }
  const exempt = new Set(except.map((zone) => zone.toLowerCase()));
  return [...byZone].flatMap(([zone, [first, ...others]]): Violation[] => {
    if (first === undefined || exempt.has(zone)) return [];
    const { requests, lacking } = protectionOf([...forAccount, ...deployedBy([first, ...others])], {});
    if (requests === "all" || requests === "unknown") return [];
    const message = `no managed ruleset protects all of zone ${zone}, which has resources in this stack: ${lacking.join("; ")}. Deploy one with a ManagedRulesetOverride for all requests, or list the zone in exceptZones if another stack protects it.`;
    return [{ urn: first.urn, message }];
  });
}

/**
 * Returns the zone's ID in lower case. Undefined if it isn't known yet. A deployment in an unknown zone doesn't cover
 * any other zone.
 */
function zoneOf({ props }: Declared): string | undefined {
  return text(props, "zoneId")?.toLowerCase();
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

function propsOf({ props }: Declared): JsonObject {
  const copy = withUnknowns(props);
  return isJsonObject(copy) ? copy : {};
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
