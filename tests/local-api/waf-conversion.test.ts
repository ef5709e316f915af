import type { WafAction } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { result } from "./client";
import { Migrating, NEW_OWASP, NEW_VENDOR, SCORE_RULE } from "./waf-client";

const api = apiPerFile();
beforeEach(() => api.reset());

/** The configuration proposed for an untouched zone after these actions. */
async function proposedAfter(...actions: WafAction[]) {
  const zoneId = api.zones.migrateRetired;
  api.inDashboard(zoneId, { do: "retire", status: null });
  for (const action of actions) api.inDashboard(zoneId, action);
  return new Migrating(api, "migrateRetired").proposed();
}

const blank = { id: "", version: "", ref: "" };
const level = (number: number) => ({ category: `paranoia-level-${number}`, enabled: false });

test("the proposed configuration of a zone with default settings has both rulesets, with empty id, version and ref", async () => {
  const zone = new Migrating(api, "migrateRetired");
  api.inDashboard(api.zones.migrateRetired, { do: "retire", status: null });
  expect(result(await zone.config())).toEqual({
    name: "default",
    rules: [
      {
        ...blank,
        action: "execute",
        expression: "true",
        description: "",
        enabled: true,
        action_parameters: { id: NEW_VENDOR },
      },
      {
        ...blank,
        action: "execute",
        expression: "true",
        description: "",
        enabled: true,
        action_parameters: {
          id: NEW_OWASP,
          overrides: {
            categories: [level(3), level(4)],
            rules: [{ id: SCORE_RULE, action: "challenge", score_threshold: 40 }],
          },
        },
      },
    ],
  });
});

test.each<["high" | "medium" | "low" | "default", number[], number]>([
  ["high", [3, 4], 40],
  ["medium", [2, 3, 4], 25],
  ["low", [2, 3, 4], 40],
  ["default", [3, 4], 40],
])(
  "a WAF migration converts OWASP sensitivity %s to disabled paranoia levels %j and score threshold %i",
  async (sensitivity, off, score) => {
    const [, rule] = await proposedAfter({ do: "package", sensitivity });
    expect(rule).toMatchObject({
      action_parameters: {
        id: NEW_OWASP,
        overrides: { categories: off.map(level), rules: [{ id: SCORE_RULE, score_threshold: score }] },
      },
    });
  },
);

test("a WAF migration doesn't deploy the OWASP ruleset if the OWASP package is off", async () => {
  const rules = await proposedAfter({ do: "package", sensitivity: "off" });
  expect(rules).toMatchObject([{ action_parameters: { id: NEW_VENDOR } }]);
});

test.each<["block" | "challenge" | "simulate", string]>([
  ["block", "block"],
  ["challenge", "challenge"],
  ["simulate", "log"],
])("a WAF migration converts the OWASP action %s to %s", async (action_mode, action) => {
  const [, rule] = await proposedAfter({ do: "package", action_mode });
  expect(rule).toMatchObject({ action_parameters: { overrides: { rules: [{ id: SCORE_RULE, action }] } } });
});

test.each<["disable" | "simulate" | "block" | "challenge", object]>([
  ["disable", { enabled: false }],
  ["simulate", { action: "log", enabled: true }],
  ["block", { action: "block", enabled: true }],
  ["challenge", { action: "challenge", enabled: true }],
])(
  "a WAF migration converts a rule with mode %s in Cloudflare's package to the override %j",
  async (mode, override) => {
    const [rule] = await proposedAfter({ do: "rule", id: "100000", mode });
    const id = "23ee7cebe6e8443e99ecf932ab579455";
    expect(rule?.["action_parameters"]).toEqual({
      id: NEW_VENDOR,
      overrides: { rules: [{ id, ...override }] },
    });
  },
);

test("a WAF migration converts firewall rules that bypass the managed rules to exceptions, and ignores all others", async () => {
  const rules = await proposedAfter({
    do: "firewallRules",
    rules: [
      { expression: "ip.src eq 192.0.2.1", description: "office" },
      { expression: "ip.src eq 192.0.2.2", action: "block" },
      { expression: "ip.src eq 192.0.2.3", products: ["rateLimit"] },
      { expression: "ip.src eq 192.0.2.4", products: ["rateLimit", "waf"], paused: true },
    ],
  });
  expect(rules.map(({ action, expression, enabled }) => [action, expression, enabled])).toEqual([
    ["skip", "ip.src eq 192.0.2.1", true],
    ["skip", "ip.src eq 192.0.2.4", false],
    ["execute", "true", true],
    ["execute", "true", true],
  ]);
  expect(rules[0]).toMatchObject({
    ...blank,
    action_parameters: { ruleset: "current" },
    description: "Firewall rule: office",
  });
});

const off = [{ id: "waf", value: "off" }];
const on = [{ id: "waf", value: "on" }];

test.each([
  ["shop.example/hooks/*", 'http.host eq "shop.example" and starts_with(http.request.uri.path, "/hooks/")'],
  ["https://shop.example/login", 'ssl and http.host eq "shop.example" and http.request.uri.path eq "/login"'],
  ["http://*.shop.example/*", 'not ssl and ends_with(http.host, ".shop.example")'],
  ["*shop.example", 'ends_with(http.host, "shop.example")'],
  [
    "shop.example/*/img/*.png",
    'http.host eq "shop.example" and http.request.uri.path wildcard "/*/img/*.png"',
  ],
  ["*", "true"],
])(
  "a WAF migration converts a page rule that disables the WAF on %s to an exception for %s",
  async (url, expression) => {
    const [rule] = await proposedAfter({ do: "pageRules", rules: [{ url, actions: off }] });
    expect(rule).toMatchObject({ action: "skip", expression, action_parameters: { ruleset: "current" } });
  },
);

test("a WAF migration also converts a page rule that disables security to an exception, but no other page rules", async () => {
  const rules = await proposedAfter({
    do: "pageRules",
    rules: [
      { url: "a.example/*", actions: [{ id: "disable_security" }] },
      { url: "b.example/*", actions: off, status: "disabled" },
      { url: "c.example/*", actions: [{ id: "always_use_https" }] },
      { url: "d.example/*", actions: on },
    ],
  });
  expect(rules.map(({ action, expression }) => [action, expression])).toEqual([
    ["skip", 'http.host eq "a.example"'],
    ["execute", "true"],
    ["execute", "true"],
  ]);
});

test("if a zone's previous rules are off, the new rules stay off unless a page rule turns them on", async () => {
  const all = await proposedAfter({ do: "setting", value: "off" });
  expect(all.map(({ enabled }) => enabled)).toEqual([false, false]);
  const some = await proposedAfter({
    do: "pageRules",
    rules: [
      { url: "a.example/static/*", actions: off },
      { url: "a.example/*", actions: on },
    ],
  });
  const where = 'http.host eq "a.example"';
  expect(some).toMatchObject([
    { action: "execute", expression: where, enabled: true },
    { action: "execute", expression: where, enabled: true },
  ]);
});

test("a WAF migration converts groups that were switched to category overrides, but no change of an OWASP group or rule", async () => {
  const { overrides } = (await new Migrating(api, "migratePro").proposed())[0]?.["action_parameters"] as {
    overrides: { categories: unknown };
  };
  expect(overrides.categories).toEqual([{ category: "wordpress", enabled: false }]);
  const untouched = await proposedAfter();
  expect(await proposedAfter({ do: "rule", id: "960001", mode: "off" })).toEqual(untouched);
});

test("every seeded zone accepts its own proposed configuration", async () => {
  for (const name of [
    ...(["migratePro", "migrateBusiness", "migrateEnterprise", "migrateDeployed"] as const),
    ...(["migrateLimits", "migratePageRule", "migrateOff"] as const),
  ]) {
    const zone = new Migrating(api, name);
    const rules = await zone.proposed();
    expect({ name, status: (await zone.put("pending", rules)).status }).toEqual({ name, status: 200 });
    expect((await zone.saved()).length).toBe(rules.length);
  }
});
