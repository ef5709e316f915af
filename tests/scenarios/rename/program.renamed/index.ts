import * as pulumi from "@pulumi/pulumi";
import { ManagedRulesetOverride, PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

new PageShieldSettings("after", { zoneId, enabled: true });
new PageShieldPolicy("after", {
  zoneId,
  description: "checkout",
  action: "log",
  expression: 'http.host eq "a.example"',
  value: "script-src 'self'",
});
new ManagedRulesetOverride("after", { zoneId, ruleset: { name: "Cloudflare Managed Ruleset" } });
