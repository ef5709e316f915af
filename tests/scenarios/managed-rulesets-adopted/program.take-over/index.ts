import * as pulumi from "@pulumi/pulumi";
import { ManagedRulesetOverride } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

new ManagedRulesetOverride("waf", {
  zoneId,
  ruleset: { name: "Cloudflare OWASP Core Ruleset" },
  owasp: { paranoiaLevel: 2 },
  adopt: "takeOver",
});
