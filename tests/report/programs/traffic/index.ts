import { ManagedRulesetOverride, type ManagedRulesetOverrideArgs } from "pulumi-edgeguard";

// A deployment with a rule on log, one that blocks and one that's off, and what CHANGE does to it.
const zoneId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a505";
const LOGGED = "23ee7cebe6e8443e99ecf932ab579455";
const BLOCKING = "f00de05509094cdf3abb219c027d2d16";
const OFF = "b5784d6e0ad9eb19b54594134f59c751";

type Args = Pick<ManagedRulesetOverrideArgs, "rules" | "exceptions">;
const before = { [LOGGED]: { action: "log" }, [BLOCKING]: { action: "block" }, [OFF]: { enabled: false } };
const CHANGES: Readonly<Record<string, Args>> = {
  "log-to-block": { rules: { ...before, [LOGGED]: { action: "block" } } },
  "block-to-log": { rules: { ...before, [BLOCKING]: { action: "log" } } },
  "off-to-block": { rules: { ...before, [OFF]: { enabled: true, action: "block" } } },
  exception: {
    rules: before,
    exceptions: [
      {
        description: "Billing webhook",
        expression: 'http.request.uri.path eq "/hooks/billing" and ip.src in {203.0.113.0/24}',
        skip: "this",
      },
    ],
  },
};

new ManagedRulesetOverride("waf", {
  zoneId,
  ruleset: "Cloudflare Managed Ruleset",
  rules: before,
  ...CHANGES[process.env["CHANGE"] ?? ""],
});
