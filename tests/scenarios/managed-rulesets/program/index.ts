import * as pulumi from "@pulumi/pulumi";
import { ManagedRulesetOverride } from "pulumi-edgeguard";

const zoneId = new pulumi.Config().require("zoneId");

const waf = new ManagedRulesetOverride("waf", {
  zoneId,
  ruleset: { name: "Cloudflare OWASP Core Ruleset" },
  owasp: { paranoiaLevel: 2, scoreThreshold: "high", action: "managed_challenge" },
  exceptions: [
    {
      expression: 'http.request.uri.path eq "/payments/hook"',
      description: "the provider signs",
      skip: "all",
    },
  ],
});

export const { ref, ruleRef } = waf;
