import { KvEntries, PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

const zoneId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";

new PageShieldSettings("shop", { zoneId, enabled: true });
new PageShieldPolicy("www", {
  zoneId,
  description: "www",
  action: "allow",
  expression: 'http.host eq "www.shop.example"',
  value: { scriptSrc: ["'self'", "cdn.libraries.example", "tags.metrics.example"] },
});
new PageShieldPolicy("checkout", {
  zoneId,
  description: "payments",
  action: "log",
  expression: 'http.host eq "checkout.shop.example"',
  value: { scriptSrc: ["'self'", "js.payments.example"] },
});
new KvEntries("flags", {
  namespaceId: "5a0c1e7f3b2d4968a7e1c0f2d3b4b601",
  entries: { "flag/express": "on", "flag/banner": "off" },
});
