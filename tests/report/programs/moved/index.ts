import {
  destination,
  KvEntries,
  KvNamespace,
  LogpushJob,
  ManagedRulesetOverride,
  PageShieldPolicy,
  PageShieldSettings,
  WafMigration,
} from "pulumi-edgeguard";

// The resources of the first program in another zone or account: none of them can be changed to that.
const blog = "5a0c1e7f3b2d4968a7e1c0f2d3b4a502";
const pro = "5a0c1e7f3b2d4968a7e1c0f2d3b4a601";
const accountId = "00000000000000000000000000000abc";

new PageShieldSettings("shop", { zoneId: blog, enabled: true });

new PageShieldPolicy("www", {
  zoneId: blog,
  description: "www: scripts detected in the shop",
  action: "allow",
  expression: 'http.host eq "www.shop.example"',
  value: { scriptSrc: ["'self'", "cdn.libraries.example", "tags.metrics.example"] },
});

new ManagedRulesetOverride("owasp", {
  zoneId: blog,
  ruleset: { name: "Cloudflare OWASP Core Ruleset" },
  owasp: { paranoiaLevel: 1, scoreThreshold: "low" },
  adopt: "takeOver",
});

new WafMigration("older", { zoneId: pro, plan: "pro", target: "assessed" });

new LogpushJob("errors", {
  zoneId: blog,
  dataset: "firewall_events",
  destination: destination.https({
    url: "https://logs.shop.example/edge",
    headers: { Authorization: "Bearer canary-log-token" },
  }),
});

const catalog = new KvNamespace("catalog", { title: "catalog", accountId, forceDestroy: true });
new KvEntries("products", { namespaceId: catalog.id, accountId, file: "products.json" });
