import type { ResourceValidationPolicy } from "@pulumi/policy";
import { PageShieldPolicy } from "../page-shield/policy";
import { member, text } from "./declared";
import { NOTHING, onResource, type PolicyOptions } from "./define";

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
      return `action: "allow" would block scripts that policy ${JSON.stringify(text(props, "description") ?? name)} never logged. Set action: "log", run \`pulumi up\`, review what Page Shield reports for a few days, then set action: "allow".`;
    },
  );
}
