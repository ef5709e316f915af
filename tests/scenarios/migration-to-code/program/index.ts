import * as pulumi from "@pulumi/pulumi";
import { ManagedRulesetOverride, WafMigration } from "pulumi-edgeguard";

const config = new pulumi.Config();
const zoneId = config.require("zoneId");

const args = { zoneId, plan: "pro", target: "finished" };
const migration = new WafMigration(
  "shop",
  { ...args, confirm: config.require("confirm") },
  { protect: true },
);
const afterwards = { dependsOn: migration };

// What a page rule turned off is an exception now: it stands in front of both rulesets.
const exceptions = [
  {
    description: "Page rule: managed rules off on migrate-page-rule.example/webhooks/*",
    expression:
      'http.host eq "migrate-page-rule.example" and starts_with(http.request.uri.path, "/webhooks/")',
    skip: "all",
  },
];

new ManagedRulesetOverride(
  "managed",
  { zoneId, ruleset: { name: "Cloudflare Managed Ruleset" }, exceptions },
  afterwards,
);

new ManagedRulesetOverride(
  "owasp",
  {
    zoneId,
    ruleset: { name: "Cloudflare OWASP Core Ruleset" },
    owasp: { paranoiaLevel: 2, scoreThreshold: "medium", action: "challenge" },
  },
  afterwards,
);
