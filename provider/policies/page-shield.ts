import type { ResourceValidationPolicy } from "@pulumi/policy";
import { PageShieldPolicy } from "../page-shield/policy";
import { member, text } from "./declared";
import { NOTHING, onResource, type PolicyOptions } from "./define";

/**
 * Refuses a Page Shield policy that blocks scripts without having logged them first: an enabled `allow` policy that was
 * never an enabled `log` policy.
 *
 * A policy pack sees what a resource will be, not what it was. So when the program changes a Page Shield policy to
 * block, the resource records in its output `logged` whether it logged before. Some policies are allowed because their
 * history is unknown: those that were imported, or enforced by a version of this package that didn't record it. A
 * resource that adopts an enforced policy unchanged is allowed as well, because nothing changes for visitors.
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
      return `action: ${JSON.stringify(text(props, "description") ?? name)} would block scripts that it never logged. Set action: "log", run \`pulumi up\`, read what Page Shield reports for a few days, then set action: "allow".`;
    },
  );
}
