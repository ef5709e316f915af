import { randomBytes } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import { KvNamespace, ManagedRulesetOverride, PageShieldPolicy } from "pulumi-edgeguard";

const config = new pulumi.Config();
const zoneId = config.require("zoneId");

new PageShieldPolicy("strict", {
  zoneId,
  description: "strict",
  action: "allow",
  expression: 'http.host eq "www.shop.example"',
  value: { scriptSrc: ["'self'"] },
});

new ManagedRulesetOverride("managed", { zoneId, ruleset: { name: "Cloudflare Managed Ruleset" } });

new KvNamespace("catalog", { title: "catalog" });

/** Stands in for @pulumi/cloudflare's resource of the same type, whose plugin isn't installed in tests. */
class WorkersScript extends pulumi.ComponentResource {
  constructor(name: string, args: Record<string, unknown>) {
    super("cloudflare:index/workersScript:WorkersScript", name);
    this.registerOutputs(args);
  }
}

new WorkersScript("shop", { scriptName: "shop", content: randomBytes(1_000).toString("base64") });
new WorkersScript("small", {
  scriptName: "small",
  bindings: [{ type: "plain_text", name: "HOSTS", text: "s3cret".repeat(800) }],
});
