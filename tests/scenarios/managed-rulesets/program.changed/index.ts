import * as pulumi from "@pulumi/pulumi";
import { ManagedRulesetOverride } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

new ManagedRulesetOverride("waf", {
  zoneId,
  ruleset: { name: "Cloudflare OWASP Core Ruleset" },
  position: { before: "security-team/managed" },
  owasp: { paranoiaLevel: 3, scoreThreshold: 40 },
  categories: [{ tag: "evasion", enabled: false }],
  exceptions: [
    { expression: 'http.request.uri.path eq "/feed"', skip: "all" },
    {
      expression: 'http.request.uri.path eq "/payments/hook"',
      description: "the provider signs",
      skip: "all",
    },
  ],
});
