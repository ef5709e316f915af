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
