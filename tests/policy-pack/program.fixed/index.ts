import * as pulumi from "@pulumi/pulumi";
import {
  KvEntries,
  KvNamespace,
  LogpushJob,
  ManagedRulesetOverride,
  PageShieldPolicy,
  WafMigration,
} from "pulumi-edgeguard";

const config = new pulumi.Config();
const zoneId = config.require("zoneId");
const wafZoneId = config.require("wafZoneId");
const ruleset = { name: "Cloudflare Managed Ruleset" };

new PageShieldPolicy("strict", {
  zoneId,
  description: "strict",
  action: config.get("action") ?? "log",
  expression: 'http.host eq "www.shop.example"',
  value: { scriptSrc: ["'self'"] },
});

new ManagedRulesetOverride("managed", { zoneId, ruleset });

new WafMigration("waf", { zoneId: wafZoneId, target: "assessed" }, { protect: true });
new ManagedRulesetOverride("waf-managed", { zoneId: wafZoneId, ruleset });

new LogpushJob("logs", {
  zoneId,
  dataset: "http_requests",
  destinationConf: "https://logs.shop.example/edge?header_Authorization=Bearer%20c4nary-c4nary",
});

const catalog = new KvNamespace("catalog", { title: "catalog" });

new KvEntries("products", {
  namespaceId: catalog.id,
  entries: { kettle: "1" },
  prune: { prefix: "products/", maxDeletes: 20 },
});
