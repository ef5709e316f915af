import { ManagedRulesetOverride } from "pulumi-edgeguard";

const zoneId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";

new ManagedRulesetOverride("waf", {
  zoneId,
  ruleset: "Cloudflare Managed Ruleset",
  expression: 'http.host eq "www.shop.example"',
  categories: [{ tag: "wordpress", enabled: false }],
  rules: { "23ee7cebe6e8443e99ecf932ab579455": { action: "log" } },
});
new ManagedRulesetOverride("pinned", {
  zoneId,
  ruleset: "Cloudflare Managed Ruleset",
  version: "87",
  expression: 'http.host eq "api.shop.example"',
});
