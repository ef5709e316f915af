import { resolve } from "node:path";
import { PolicyPack, validateResourceOfType } from "@pulumi/policy";
import { PageShieldPolicy } from "pulumi-edgeguard";
import { edgePolicies } from "pulumi-edgeguard/policies";
import { isCommitted } from "./committed";

/** The folder where pulumi runs. The pack's own process runs in the folder of the pack; PWD is still the program's. */
const folder = process.env["PWD"] ?? process.cwd();

new PolicyPack("edge-security", {
  policies: [
    ...edgePolicies({ production: "^(prod|production|live)" }),
    // One of our own: an allow policy blocks what it doesn't list, so someone reviews what the zone loads first.
    {
      name: "allow-needs-inventory",
      description: "Page Shield policies with action allow have a reviewed script inventory.",
      enforcementLevel: "mandatory",
      configSchema: {
        properties: { inventory: { type: "string", default: "script-inventory.yaml" } },
      },
      validateResource: validateResourceOfType(PageShieldPolicy, ({ action, zoneId }, resource, report) => {
        const { inventory } = resource.getConfig<{ inventory: string }>();
        if (action !== "allow" || isCommitted(resolve(folder, inventory))) return;
        report(
          `action: "allow" needs a committed inventory of the scripts that zone ${zoneId} loads. Run \`edgeguard inventory propose --zone ${zoneId}\`, have the file reviewed and commit it. Until then, use action "log", which blocks nothing.`,
        );
      }),
    },
  ],
});
