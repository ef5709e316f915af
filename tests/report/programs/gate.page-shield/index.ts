import {
  PageShieldPolicy,
  PageShieldSettings,
  type PageShieldPolicyArgs,
  type PageShieldSettingsArgs,
} from "pulumi-edgeguard";

// A resource for each argument that can lower protection, by its path: as it is, and with WEAKER as it shouldn't become.
const zone = (last: string) => `5a0c1e7f3b2d4968a7e1c0f2d3b4a${last}`;
const is = <T>(strong: T, weak: T): T => (process.env["WEAKER"] === undefined ? strong : weak);

const monitor = (argument: string, strong: PageShieldSettingsArgs, weak: Partial<PageShieldSettingsArgs>) =>
  new PageShieldSettings(argument, { ...strong, ...is({}, weak) });

monitor("zoneId", { zoneId: zone("502"), enabled: true }, { zoneId: zone("503") });
monitor("enabled", { zoneId: zone("501"), enabled: true }, { enabled: false });
monitor(
  "useReportingEndpoint",
  { zoneId: zone("505"), enabled: true, useReportingEndpoint: true },
  { useReportingEndpoint: false },
);
monitor(
  "useConnectionUrlPath",
  { zoneId: zone("603"), enabled: true, useConnectionUrlPath: true },
  { useConnectionUrlPath: false },
);

function policy(
  argument: string,
  strong: Partial<PageShieldPolicyArgs>,
  weak: Partial<PageShieldPolicyArgs>,
) {
  const usual: PageShieldPolicyArgs = {
    zoneId: zone("505"),
    description: argument,
    action: "allow",
    expression: `http.host eq "${argument}.empty.example"`,
    value: "default-src 'self'; script-src 'self' https://*.cdn.example",
  };
  new PageShieldPolicy(argument, { ...usual, ...is(strong, weak) });
}

policy("zoneId", {}, { zoneId: zone("501") });
policy("action", {}, { action: "log" });
policy("expression", { expression: "true" }, {});
policy("enabled", {}, { enabled: false });
policy("value", {}, { value: "script-src * 'unsafe-inline' 'unsafe-eval'" });
policy("extra", {}, { extra: { sample: 1 } });

// More that a value can do.
policy(
  "value: a host",
  {},
  { value: "default-src 'self'; script-src 'self' https://*.cdn.example evil.example" },
);
policy("value: 'strict-dynamic'", {}, { value: "default-src 'self'; script-src 'self' 'strict-dynamic'" });
policy("value: a hash", {}, { value: "default-src 'self'; script-src 'self' 'sha256-AAAA'" });
policy("value: fewer", {}, { value: "default-src 'none'; script-src https://static.cdn.example" });
