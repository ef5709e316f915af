import type { ResourceValidationPolicy, StackValidationPolicy } from "@pulumi/policy";
import {
  noForceDestroyInProduction,
  pruneStaysUnderLimit,
  type ForceDestroyPolicyOptions,
  type PrunePolicyOptions,
} from "./kv";
import { noPlainCredential } from "./logpush";
import { zonesNeedManagedRuleset } from "./managed-rulesets";
import { migrationNeedsProtect } from "./migration";
import { allowNeedsLog } from "./page-shield";
import type { ZonePolicyOptions } from "./zones";

/**
 * The entry point `pulumi-edgeguard/policies`: policies for `@pulumi/policy`, which a policy pack installs alongside
 * this package.
 */

export {
  noForceDestroyInProduction,
  pruneStaysUnderLimit,
  type ForceDestroyPolicyOptions,
  type PrunePolicyOptions,
} from "./kv";
export { noPlainCredential, zonesLogFirewallEvents } from "./logpush";
export { zonesNeedManagedRuleset } from "./managed-rulesets";
export { migrationNeedsProtect } from "./migration";
export { allowNeedsLog, pageShieldStaysOn, zonesNeedPageShield } from "./page-shield";
export type { PolicyOptions } from "./define";
export type { ZonePolicyOptions } from "./zones";

/** Options of {@link edgePolicies}: those of all its policies. */
export interface EdgePoliciesOptions
  extends ForceDestroyPolicyOptions, ZonePolicyOptions, PrunePolicyOptions {}

/**
 * Returns the policies that suit every zone, for a pack's list of policies. `enforcementLevel` applies to all of them. Those that
 * need something of a zone's plan, {@link zonesNeedPageShield}, {@link pageShieldStaysOn} and {@link zonesLogFirewallEvents}, aren't
 * among them.
 *
 * @example All policies, with options
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { edgePolicies } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", { policies: edgePolicies({ maxPruned: 20, production: "-live$" }) });
 * ```
 */
export function edgePolicies(
  options: EdgePoliciesOptions = {},
): (ResourceValidationPolicy | StackValidationPolicy)[] {
  return [
    allowNeedsLog(options),
    zonesNeedManagedRuleset(options),
    migrationNeedsProtect(options),
    noPlainCredential(options),
    pruneStaysUnderLimit(options),
    noForceDestroyInProduction(options),
  ];
}
