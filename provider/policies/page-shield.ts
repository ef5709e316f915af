import type { ResourceValidationPolicy, StackValidationPolicy } from "@pulumi/policy";
import { PageShieldPolicy } from "../page-shield/policy";
import { isEdgeguard, member, text, type Declared } from "./declared";
import { NOTHING, onEachResource, onResource, type PolicyOptions } from "./define";
import { onZones, type ZonePolicyOptions } from "./zones";

/**
 * Rejects a Page Shield policy that starts to block scripts without logging them first: an enabled `allow` policy that
 * was never an enabled `log` policy.
 *
 * A policy pack sees only a resource's new state, so a Page Shield policy's output `logged` records whether it logged
 * before it started to block. Policies with an unknown history are allowed: those that were imported, or enforced by a
 * version of this package without that output. Adopting an enforced policy unchanged is also allowed, because nothing
 * changes for visitors.
 *
 * @example Only warn
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { allowNeedsLog } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", { policies: [allowNeedsLog({ enforcementLevel: "advisory" })] });
 * ```
 */
export function allowNeedsLog({ enforcementLevel }: PolicyOptions = {}): ResourceValidationPolicy {
  return onResource(
    {
      name: "allow-needs-log",
      description: "Page Shield policies log before they block.",
      enforcementLevel,
    },
    PageShieldPolicy,
    NOTHING,
    ({ action, enabled = true }, { props, name }) => {
      if (action !== "allow" || !enabled || member(props, "logged") !== false) return undefined;
      const adopted = member(props, "adopted");
      if (adopted !== undefined && member(adopted, "changes") === undefined) return undefined;
      return `action: "allow" would block scripts that policy ${JSON.stringify(text(props, "description") ?? name)} never logged. Set action: "log", run \`pulumi up\`, review what Page Shield reports for a few days, then set action: "allow". If it blocks already, it can stay: with enforcementLevel "advisory", this check only warns.`;
    },
  );
}

/**
 * Rejects a stack with a zone that has resources but no `PageShieldSettings` with `enabled: true`.
 *
 * The policy knows only this stack's zones. If Page Shield was turned on in the dashboard or by another stack, list the
 * zone in `exceptZones`. {@link edgePolicies} doesn't contain the policy: add it if all of your zones have Page Shield.
 *
 * @example Every zone has Page Shield on
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { edgePolicies, zonesNeedPageShield } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", { policies: [...edgePolicies(), zonesNeedPageShield()] });
 * ```
 */
export function zonesNeedPageShield(options: ZonePolicyOptions = {}): StackValidationPolicy {
  return onZones(
    { name: "zones-need-page-shield", description: "Page Shield monitors every zone." },
    options,
    (own) => {
      const isOn = own.some(
        (each) => isEdgeguard(each, "PageShieldSettings") && member(each.props, "enabled") !== false,
      );
      return isOn
        ? undefined
        : {
            lacks: "Page Shield isn't on in",
            advice: "Turn it on with a PageShieldSettings with enabled: true",
          };
    },
  );
}

/**
 * Rejects `PageShieldSettings` with `enabled: false`. With `enforcementLevel: "remediate"`, the update turns Page Shield on
 * instead, which has no effect on visitors: it only monitors.
 *
 * {@link edgePolicies} doesn't contain the policy.
 *
 * @example Turn Page Shield on wherever a program turns it off
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { pageShieldStaysOn } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", { policies: [pageShieldStaysOn({ enforcementLevel: "remediate" })] });
 * ```
 */
export function pageShieldStaysOn({ enforcementLevel }: PolicyOptions = {}): ResourceValidationPolicy {
  const isOff = (resource: Declared): boolean =>
    isEdgeguard(resource, "PageShieldSettings") && member(resource.props, "enabled") === false;
  return {
    ...onEachResource(
      { name: "page-shield-stays-on", description: "Page Shield stays on.", enforcementLevel },
      NOTHING,
      (resource) =>
        isOff(resource)
          ? ["enabled: false turns Page Shield off, and nobody sees what scripts do. Set enabled: true."]
          : [],
    ),
    remediateResource: (resource) => (isOff(resource) ? { ...resource.props, enabled: true } : undefined),
  };
}
