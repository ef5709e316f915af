import type { ResourceValidationPolicy } from "@pulumi/policy";
import { PageShieldPolicy } from "../page-shield/policy";
import { member, text } from "./declared";
import { NOTHING, onResource, type PolicyOptions } from "./define";

/**
 * Refuses a Page Shield policy that blocks scripts without having logged them first: an enabled `allow` policy that was
 * never an enabled `log` policy.
 *
 * A policy pack sees what a resource is going to be, not what it was. So the resource records it, in its output `logged`,
 * when the program makes it block. Not refused, because nobody knows: a policy that was imported, or enforced by a version
 * of the package that didn't record it. Nor is one refused that adopts an enforced policy as it is, because visitors notice
 * nothing.
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
