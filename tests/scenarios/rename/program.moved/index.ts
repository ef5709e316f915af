import * as pulumi from "@pulumi/pulumi";
import { ManagedRulesetOverride, PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

const team = new pulumi.ComponentResource("acme:security:Team", "team");
new PageShieldSettings("after", { zoneId, enabled: true }, { parent: team });
new PageShieldPolicy(
  "after",
  {
    zoneId,
    description: "checkout",
    action: "log",
    expression: 'http.host eq "a.example"',
    value: "script-src 'self'",
  },
  { parent: team },
);
new ManagedRulesetOverride(
  "after",
  { zoneId, ruleset: { name: "Cloudflare Managed Ruleset" } },
  { parent: team },
);
