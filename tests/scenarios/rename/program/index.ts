import * as pulumi from "@pulumi/pulumi";
import { ManagedRulesetOverride, PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

new PageShieldSettings("before", { zoneId, enabled: true });
new PageShieldPolicy("before", {
  zoneId,
  description: "checkout",
  action: "log",
  expression: 'http.host eq "a.example"',
  value: "script-src 'self'",
});
new ManagedRulesetOverride("before", { zoneId, ruleset: { name: "Cloudflare Managed Ruleset" } });
