import * as pulumi from "@pulumi/pulumi";
import { ManagedRulesetOverride } from "pulumi-edgeguard";

// One rule in the zone's entry point ruleset. Everyone else's rules there keep their IDs, order and content.
const owasp = new ManagedRulesetOverride("owasp", {
  zoneId: new pulumi.Config().require("zoneId"),
  ruleset: { name: "Cloudflare OWASP Core Ruleset" },
  owasp: { paranoiaLevel: 2, scoreThreshold: "medium", action: "log" },
  exceptions: [
    {
      expression: 'starts_with(http.request.uri.path, "/webhooks/")',
      skip: "all",
      description: "signed calls",
    },
  ],
});

export const { rulesetVersion, ruleId } = owasp;
