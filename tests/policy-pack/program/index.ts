import { randomBytes } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import { KvEntries, KvNamespace, LogpushJob, PageShieldPolicy, WafMigration } from "pulumi-edgeguard";

const config = new pulumi.Config();
const zoneId = config.require("zoneId");

new PageShieldPolicy("strict", {
  zoneId,
  description: "strict",
  action: "allow",
  expression: 'http.host eq "www.shop.example"',
  value: { scriptSrc: ["'self'"] },
});

new WafMigration("waf", { zoneId: config.require("wafZoneId"), target: "assessed" });

new LogpushJob("logs", {
  zoneId,
  dataset: "http_requests",
  destinationConf: "https://logs.shop.example/edge?header_Authorization=Bearer%20c4nary-c4nary",
  extra: { note: "Bearer s3cret-s3cret" },
});

const catalog = new KvNamespace("catalog", { title: "catalog", forceDestroy: true });

new KvEntries("products", {
  namespaceId: catalog.id,
  entries: { kettle: "1" },
  prune: { prefix: "", maxDeletes: 500 },
});

/** Stands in for @pulumi/cloudflare's resource of the same type, whose plugin isn't installed in tests. */
class WorkersScript extends pulumi.ComponentResource {
  constructor(name: string, args: Record<string, unknown>) {
    super("cloudflare:index/workersScript:WorkersScript", name);
    this.registerOutputs(args);
  }
}

new WorkersScript("shop", { scriptName: "shop", content: randomBytes(1_200_000).toString("base64") });
new WorkersScript("small", {
  scriptName: "small",
  bindings: [{ type: "plain_text", name: "HOSTS", text: "s3cret".repeat(800) }],
});
