import { PolicyPack, validateResourceOfType } from "@pulumi/policy";
import { PageShieldPolicy } from "pulumi-edgeguard";
import { edgePolicies } from "pulumi-edgeguard/policies";
import { reviewedZones } from "./snapshots";

/** The folder where pulumi runs. The pack's own process runs in the folder of the pack; PWD is still the program's. */
const folder = process.env["PWD"] ?? process.cwd();

new PolicyPack("edge-security", {
  policies: [
    ...edgePolicies({ plan: "paid", production: "^(prod|production|live)" }),
    // One of our own: an allow policy blocks what it doesn't list, so someone reviews what the zone loads first.
    {
      name: "allow-needs-snapshot",
      description: "Page Shield policies with action allow have a reviewed snapshot.",
      enforcementLevel: "mandatory",
      configSchema: {
        properties: { snapshots: { type: "array", items: { type: "string" }, default: ["detections.json"] } },
      },
      validateResource: validateResourceOfType(PageShieldPolicy, ({ action, zoneId }, resource, report) => {
        const { snapshots } = resource.getConfig<{ snapshots: string[] }>();
        if (action !== "allow" || reviewedZones(folder, snapshots).has(zoneId)) return;
        report(
          `action: "allow" needs a committed snapshot of what zone ${zoneId} loads. Run \`edgeguard detections save --zone ${zoneId}\`, have the file reviewed and commit it. Until then, use action "log", which blocks nothing.`,
        );
      }),
    },
  ],
});
