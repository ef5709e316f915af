import * as pulumi from "@pulumi/pulumi";
import { ManagedRulesetOverride } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

const managed = new ManagedRulesetOverride("managed", {
  zoneId,
  ruleset: { name: "Cloudflare Managed Ruleset" },
});

new ManagedRulesetOverride("owasp", {
  zoneId,
  ruleset: { name: "Cloudflare OWASP Core Ruleset" },
  owasp: { paranoiaLevel: 1, scoreThreshold: "medium" },
  position: { after: managed.ruleRef },
});
