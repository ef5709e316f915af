import { PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";

// Some of the few, in another zone.
const zoneId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a502";

new PageShieldSettings("shop", { zoneId, enabled: true });
new PageShieldPolicy("www", {
  zoneId,
  description: "www",
  action: "allow",
  expression: 'http.host eq "www.shop.example"',
  value: { scriptSrc: ["'self'", "cdn.libraries.example", "tags.metrics.example"] },
});
