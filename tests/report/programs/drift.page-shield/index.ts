import { PageShieldPolicy, PageShieldSettings, type PageShieldPolicyArgs } from "pulumi-edgeguard";

// A resource for each way that someone can change it manually. With CHANGED, the program changes at the same time.
const shop = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const empty = "5a0c1e7f3b2d4968a7e1c0f2d3b4a505";
const isChanged = process.env["CHANGED"] !== undefined;

new PageShieldSettings("weaker", {
  zoneId: shop,
  enabled: true,
  useReportingEndpoint: true,
  useConnectionUrlPath: true,
});
new PageShieldSettings("stronger", { zoneId: empty, enabled: false });

function policy(
  name: string,
  args: Partial<PageShieldPolicyArgs> = {},
  changed: Partial<PageShieldPolicyArgs> = {},
): void {
  new PageShieldPolicy(name, {
    zoneId: empty,
    description: name,
    action: "log",
    expression: `http.host eq "${name}.empty.example"`,
    value: "default-src 'self'; script-src 'self' https://*.cdn.example",
    ...args,
    ...(isChanged ? changed : {}),
  });
}

policy("unchanged");
policy("action", { action: "allow" });
policy("expression");
policy("enabled");
policy("description", { description: "description of the program" });
policy("more-sources");
policy("fewer-sources");
policy("extra", { extra: { scope: { team: "web" } } });
policy("gone");

// The program changes, too.
policy("declared-since", {}, { action: "allow" });
policy("declared-differently", {}, { description: "declared anew" });
policy("declared-elsewhere", {}, { expression: 'http.host eq "other.empty.example"' });
if (!isChanged) policy("removed");
if (!isChanged) policy("removed-and-gone");
if (!isChanged) policy("removed-only");
if (isChanged) policy("new");
