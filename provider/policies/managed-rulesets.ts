import type { StackValidationPolicy } from "@pulumi/policy";
import { isCloudflare, isEdgeguard, list, member, text, type Declared } from "./declared";
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
 * Rejects a stack with a zone that has resources but no managed ruleset: no enabled `ManagedRulesetOverride`, no
 * `WafMigration` that goes beyond assessing, and no ruleset from `@pulumi/cloudflare` that executes one. A deployment
 * for the whole account counts for every zone.
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
      description: "Every zone has a managed ruleset.",
      enforcementLevel,
    },
    {
      schema: { exceptZones: { type: "array", items: { type: "string" }, default: [...exceptZones] } },
      values: { exceptZones },
    },
    (resources, config) => unprotectedZones(resources, config.exceptZones),
  );
}

const MANAGED_PHASE = "http_request_firewall_managed";

function unprotectedZones(resources: readonly Declared[], except: readonly string[]): Violation[] {
  const managed = resources.filter(deploysManagedRules);
  // A deployment for the account: only its expression says which zones it covers.
  if (managed.some(isForAccount)) return [];
  const covered = new Set([...except.map((zone) => zone.toLowerCase()), ...managed.map(zoneOf)]);
  const first = new Map<string, Declared>();
  // Sorted, because the order of registration differs from run to run.
  for (const resource of [...resources].sort((one, other) => (one.urn < other.urn ? -1 : 1))) {
    const zone = zoneOf(resource);
    if (zone !== undefined && !covered.has(zone) && !first.has(zone)) first.set(zone, resource);
  }
  return [...first].map(([zone, { urn }]) => ({
    urn,
    message: `zone ${zone} has resources in this stack but no managed ruleset. Add a ManagedRulesetOverride for it, or list it in exceptZones if another stack protects it.`,
  }));
}

/**
 * Returns the zone's ID in lower case. Undefined if it isn't known yet. A deployment in an unknown zone doesn't cover
 * any other zone.
 */
function zoneOf({ props }: Declared): string | undefined {
  return text(props, "zoneId")?.toLowerCase();
}

/**
 * Whether a ruleset is deployed for the whole account. This package's resources always have a zone, even if a preview
 * doesn't know it yet.
 */
function isForAccount(resource: Declared): boolean {
  return (
    isCloudflare(resource, "Ruleset") &&
    text(resource.props, "accountId") !== undefined &&
    zoneOf(resource) === undefined
  );
}

function deploysManagedRules(resource: Declared): boolean {
  const { props } = resource;
  if (isEdgeguard(resource, "ManagedRulesetOverride")) return member(props, "enabled") !== false;
  if (isEdgeguard(resource, "WafMigration")) return text(props, "target") !== "assessed";
  if (!isCloudflare(resource, "Ruleset") || text(props, "phase") !== MANAGED_PHASE) return false;
  return list(props, "rules").some(
    (rule) => text(rule, "action") === "execute" && member(rule, "enabled") !== false,
  );
}
