import type { ResourceValidationPolicy } from "@pulumi/policy";
import { WafMigration } from "../migration/waf-migration";
import { text } from "./declared";
import { NOTHING, onResource, type PolicyOptions } from "./define";

/**
 * Rejects a `WafMigration` without the option `protect: true`. A migration can't be undone, and the resource's state is
 * the only record of the zone's previous settings. `protect` keeps a destroy or a rename from deleting that record.
 *
 * @example A pack with this policy alone
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { migrationNeedsProtect } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", { policies: [migrationNeedsProtect()] });
 * ```
 */
export function migrationNeedsProtect({ enforcementLevel }: PolicyOptions = {}): ResourceValidationPolicy {
  return onResource(
    { name: "migration-needs-protect", description: "WAF migrations are protected.", enforcementLevel },
    WafMigration,
    NOTHING,
    (_args, { opts, name, props }) => {
      const zone = text(props, "zoneId");
      return opts.protect
        ? undefined
        : `WafMigration ${JSON.stringify(name)}${zone === undefined ? "" : ` of zone ${zone}`} isn't protected, so a destroy would delete the only record of the zone's previous settings. Set the resource option protect: true.`;
    },
  );
}
