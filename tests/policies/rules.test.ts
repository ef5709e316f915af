import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  allowNeedsLog,
  edgePolicies,
  migrationNeedsProtect,
  noForceDestroyInProduction,
  noPlainCredential,
  pageShieldStaysOn,
  pruneStaysUnderLimit,
  zonesLogFirewallEvents,
  zonesNeedManagedRuleset,
  zonesNeedPageShield,
} from "pulumi-edgeguard/policies";
import { runProgram } from "pulumi-edgeguard/testing";
import { programsOf } from "../support/documents";
import { analyze, type Analyzed } from "../support/policies";
import { UNKNOWN } from "../support/operation";

const ZONE = "0da42c8d2132a9ddaf714f9e7c920711";
const OTHER = "1da42c8d2132a9ddaf714f9e7c920712";

type Policies = Parameters<typeof analyze>[0];

function declared(type: string, props: Record<string, unknown>, stack = "dev"): Analyzed {
  const name = typeof props["name"] === "string" ? props["name"] : "one";
  return { type, urn: `urn:pulumi:${stack}::shop::${type}::${name}`, props };
}
const edgeguard = (type: string, props: Record<string, unknown>, stack?: string): Analyzed =>
  declared(`pulumi-nodejs:dynamic/edgeguard:${type}`, props, stack);
const cloudflare = (type: string, props: Record<string, unknown>): Analyzed =>
  declared(`cloudflare:index/${type.charAt(0).toLowerCase()}${type.slice(1)}:${type}`, props);

const messages = async (policy: Policies[number], ...resources: Analyzed[]): Promise<string[]> =>
  (await analyze([policy], resources)).map(({ message }) => message);

describe("the policy allow-needs-log", () => {
  const found = (props: Record<string, unknown>): Promise<string[]> =>
    messages(
      allowNeedsLog(),
      edgeguard("PageShieldPolicy", {
        zoneId: ZONE,
        description: "Shop",
        action: "allow",
        enabled: true,
        ...props,
      }),
    );

  test("rejects a Page Shield policy that would block scripts it never logged", async () => {
    expect(await found({ logged: false })).toEqual([
      expect.stringMatching(
        /^action: "allow" would block scripts that policy "Shop" never logged\. Set action: "log", run/,
      ),
    ]);
    expect(await found({ logged: true })).toEqual([]);
  });

  test("accepts a Page Shield policy that's disabled, or whose history isn't known", async () => {
    expect(await found({ logged: false, enabled: false })).toEqual([]);
    expect(await found({})).toEqual([]);
    expect(await found({ logged: UNKNOWN })).toEqual([]);
  });

  test("accepts adopting an enforced Page Shield policy unchanged, but not changing it", async () => {
    const adopted = { object: "policy 1", onDestroy: "deletes it" };
    expect(await found({ logged: false, adopted })).toEqual([]);
    const changes = { action: { before: "log", after: "allow" } };
    expect(await found({ logged: false, adopted: { ...adopted, changes } })).toHaveLength(1);
  });

  test("reports that it can't check an action that isn't known yet", async () => {
    const [only, ...more] = await analyze(
      [allowNeedsLog()],
      [edgeguard("PageShieldPolicy", { zoneId: ZONE, action: UNKNOWN, logged: false })],
    );
    expect(more).toEqual([]);
    expect(only).toMatchObject({
      level: "advisory",
      message: expect.stringContaining("during preview") as string,
    });
  });
});

test("migration-needs-protect rejects a WAF migration that isn't protected", async () => {
  const migration = edgeguard("WafMigration", { zoneId: ZONE, target: "finished" });
  expect(await messages(migrationNeedsProtect(), migration)).toEqual([
    expect.stringMatching(
      `^WafMigration "one" of zone ${ZONE} isn't protected, .* Set the resource option protect: true`,
    ),
  ]);
  expect(await messages(migrationNeedsProtect(), { ...migration, protect: true })).toEqual([]);
});

describe("the policy no-plain-credential", () => {
  const found = (resource: Analyzed): Promise<string[]> => messages(noPlainCredential(), resource);
  test.each([
    "https://logs.example/in?header_Authorization=Basic%20abcdefghijkl",
    "s3://logs/http?access-key-id=AKIAABCDEFGHIJKLMNOP&secret-access-key=s3cret",
    "https://logs.example/?sv=1&sig=s3cret",
    "Bearer s3cret-s3cret",
    "Basic dXNlcjpwYXNz",
    '{"Authorization": "Splunk abcdefgh-0123"}',
  ])("reports a credential outside the destination: %s", async (value) => {
    const job = edgeguard("LogpushJob", { destinationConf: value, extra: { nested: [value] } });
    expect(await found(job)).toEqual([
      "extra contains what looks like a credential, but it isn't marked as secret. Move the credential to destination.",
    ]);
    const other = await found(cloudflare("LogpushJob", { destinationConf: value }));
    expect(other).toEqual([expect.stringMatching(/^destinationConf contains a credential/)]);
    expect(other.join()).not.toContain("s3cret");
  });

  test.each([
    "s3://logs/http/{DATE}?region=us-east-1",
    "https://logs.example/in",
    "the token bucket",
    'http.host eq "a"',
  ])("doesn't mistake %s for a credential", async (value) => {
    expect(await found(edgeguard("LogpushJob", { name: value, filter: value }))).toEqual([]);
    expect(await found(cloudflare("LogpushJob", { destinationConf: value }))).toEqual([]);
  });

  test("doesn't mistake plain English or a filter for a credential", async () => {
    const filter = '{"where":{"key":"ClientRequestURI","operator":"contains","value":"/?token=abc"}}';
    const job = edgeguard("LogpushJob", { name: "Basic authentication logs", filter });
    expect(await found(job)).toEqual([]);
    expect(await found(edgeguard("LogpushJob", { extra: "Basic authentication logs" }))).toEqual([]);
  });
});

describe("the policy prune-stays-under-limit", () => {
  const found = (prune: object, maxPruned?: number): Promise<string[]> =>
    messages(
      pruneStaysUnderLimit(maxPruned === undefined ? {} : { maxPruned }),
      edgeguard("KvEntries", { namespaceId: "a", prune }),
    );

  test("rejects a maxDeletes above the policy's limit", async () => {
    expect(await found({ prefix: "a/", maxDeletes: 101 })).toEqual([
      'prune.maxDeletes is 101 for the prefix "a/"; this stack\'s policy allows at most 100. Set prune.maxDeletes to 100 or less.',
    ]);
    expect(await found({ prefix: "a/", maxDeletes: 20 }, 20)).toEqual([]);
    expect(await found({ prefix: "a/", maxDeletes: 21 }, 20)).toHaveLength(1);
  });

  test("rejects an unset maxDeletes if the policy's limit is below 100, the default", async () => {
    expect(await found({ prefix: "a/" })).toEqual([]);
    expect(await found({ prefix: "a/" }, 99)).toEqual([
      'prune.maxDeletes is 100 (the default) for the prefix "a/"; this stack\'s policy allows at most 99. Set prune.maxDeletes to 99 or less.',
    ]);
  });

  test("accepts KvEntries without prune", async () => {
    expect(await messages(pruneStaysUnderLimit({ maxPruned: 0 }), edgeguard("KvEntries", {}))).toEqual([]);
  });
});

test("no-force-destroy-in-production rejects forceDestroy only in production stacks", async () => {
  const found = (stack: string, forceDestroy?: unknown, production?: string): Promise<string[]> =>
    messages(
      noForceDestroyInProduction(production === undefined ? {} : { production }),
      edgeguard(
        "KvNamespace",
        { title: "catalog", ...(forceDestroy === undefined ? {} : { forceDestroy }) },
        stack,
      ),
    );
  expect(await found("production", true)).toEqual([
    expect.stringMatching(/stack "production" deletes every key in namespace "catalog"/),
  ]);
  expect(await found("prod-eu", true)).toHaveLength(1);
  expect(await found("dev", true)).toEqual([]);
  expect(await found("dev", true, "^dev$")).toHaveLength(1);
  expect(await found("production", false)).toEqual([]);
  expect(await found("production")).toEqual([]);
});

describe("the policy zones-need-managed-ruleset", () => {
  const settingsOf = (zoneId: string): Analyzed => edgeguard("PageShieldSettings", { zoneId, name: zoneId });
  const zones = async (...resources: Analyzed[]): Promise<string[]> =>
    (await messages(zonesNeedManagedRuleset(), ...resources)).map(
      (text) => /zone (\w+)/.exec(text)?.[1] ?? "",
    );

  test("reports each zone without a managed ruleset once", async () => {
    const policy = edgeguard("PageShieldPolicy", { zoneId: ZONE });
    expect(await zones(settingsOf(ZONE), policy, settingsOf(OTHER))).toEqual([ZONE, OTHER]);
    expect(await analyze([zonesNeedManagedRuleset()], [settingsOf(ZONE)])).toMatchObject([
      { resource: ZONE },
    ]);
    expect(await zones(settingsOf(UNKNOWN))).toEqual([]);
  });

  test.each<[string, Analyzed]>([
    ["a ManagedRulesetOverride", edgeguard("ManagedRulesetOverride", { zoneId: ZONE })],
    ["a WAF migration", edgeguard("WafMigration", { zoneId: ZONE, target: "finished" })],
    [
      "a ruleset of @pulumi/cloudflare",
      cloudflare("Ruleset", {
        zoneId: ZONE,
        phase: "http_request_firewall_managed",
        rules: [{ action: "execute" }],
      }),
    ],
  ])("accepts a zone covered by %s", async (_, deployment) => {
    expect(await zones(settingsOf(ZONE), deployment, settingsOf(OTHER))).toEqual([OTHER]);
  });

  test.each<[string, Analyzed]>([
    [
      "a disabled ManagedRulesetOverride",
      edgeguard("ManagedRulesetOverride", { zoneId: ZONE, enabled: false }),
    ],
    ["a migration that only assesses", edgeguard("WafMigration", { zoneId: ZONE, target: "assessed" })],
    [
      "a ruleset of custom rules",
      cloudflare("Ruleset", {
        zoneId: ZONE,
        phase: "http_request_firewall_custom",
        rules: [{ action: "execute" }],
      }),
    ],
    [
      "an empty entry point",
      cloudflare("Ruleset", { zoneId: ZONE, phase: "http_request_firewall_managed", rules: [] }),
    ],
  ])("reports a zone despite %s", async (_, deployment) => {
    expect(await zones(settingsOf(ZONE), deployment)).toEqual([ZONE]);
  });

  const override = (props: Record<string, unknown>): Analyzed =>
    edgeguard("ManagedRulesetOverride", { zoneId: ZONE, ruleset: { name: "Managed" }, ...props });
  const entryPoint = (...rules: Record<string, unknown>[]): Analyzed =>
    cloudflare("Ruleset", { zoneId: ZONE, phase: "http_request_firewall_managed", rules });
  const EXECUTE = { action: "execute", expression: "true" };
  const EXPOSED = "c2e184081120413c86c3ab7e14069605";

  test.each<[string, Analyzed]>([
    ['"Managed" runs for no request', override({ expression: "false" })],
    ['"Managed" runs only for some requests: http.host eq "a"', override({ expression: 'http.host eq "a"' })],
    ['"Managed" only logs', override({ action: "log" })],
    ['"Managed" only logs', override({ owasp: { paranoiaLevel: 2, action: "log" } })],
    [`${EXPOSED} only checks for exposed credentials`, override({ ruleset: { id: EXPOSED } })],
    ['"Managed" has too few rules on to act', override({ expansion: { rules: { on: 0, off: 9 } } })],
    ...["all", "this", { rulesets: ["Managed"] }].map((skip): [string, Analyzed] => [
      '"Managed" is skipped for all requests by an exception',
      override({ exceptions: [{ expression: "not false", skip }] }),
    ]),
    ["a managed ruleset runs for no request", entryPoint({ ...EXECUTE, expression: "false" })],
    [
      "a managed ruleset only logs",
      entryPoint({ ...EXECUTE, actionParameters: { overrides: { action: "log" } } }),
    ],
    [
      "a managed ruleset is skipped for all requests by an exception",
      entryPoint({ action: "skip", expression: "true", actionParameters: { ruleset: "current" } }, EXECUTE),
    ],
  ])("says what a zone lacks: %s", async (lack, deployment) => {
    expect(await messages(zonesNeedManagedRuleset(), settingsOf(ZONE), deployment)).toEqual([
      `no managed ruleset protects all of zone ${ZONE}, which has resources in this stack: ${lack}. Deploy one with a ManagedRulesetOverride for all requests, or list the zone in exceptZones if another stack protects it.`,
    ]);
  });

  test.each<[string, Analyzed]>([
    [
      "with an exception for one path",
      override({ exceptions: [{ expression: 'http.host eq "a"', skip: "all" }] }),
    ],
    ["whose expression is true in other words", override({ expression: 'http.host eq "a" or not false' })],
    [
      "that logs, except for one tag",
      override({ action: "log", categories: [{ tag: "sqli", action: "block" }] }),
    ],
    ["whose expression isn't known yet", override({ expression: UNKNOWN })],
    ["whose exceptions aren't known yet", override({ exceptions: UNKNOWN })],
    [
      "before an exception",
      entryPoint(EXECUTE, { action: "skip", expression: "true", actionParameters: { ruleset: "current" } }),
    ],
  ])("accepts a zone with a managed ruleset %s", async (_, deployment) => {
    expect(await messages(zonesNeedManagedRuleset(), settingsOf(ZONE), deployment)).toEqual([]);
  });

  test("accepts a zone that one of several rulesets protects", async () => {
    const others = [override({ name: "a", action: "log" }), override({ name: "b", enabled: false })];
    expect(await zones(settingsOf(ZONE), ...others)).toEqual([ZONE]);
    expect(await zones(settingsOf(ZONE), ...others, override({ name: "c" }))).toEqual([]);
  });

  test.each<[string, Analyzed]>([
    ["a ManagedRulesetOverride", edgeguard("ManagedRulesetOverride", { zoneId: UNKNOWN })],
    ["a WAF migration", edgeguard("WafMigration", { zoneId: UNKNOWN, target: "finished" })],
    [
      "a ruleset of @pulumi/cloudflare",
      cloudflare("Ruleset", {
        zoneId: UNKNOWN,
        phase: "http_request_firewall_managed",
        rules: [{ action: "execute" }],
      }),
    ],
  ])("reports a zone despite %s whose own zone isn't known yet", async (_, deployment) => {
    expect(await zones(settingsOf(ZONE), deployment, settingsOf(UNKNOWN))).toEqual([ZONE]);
  });

  test("ignores the case of zone IDs, in rulesets and in exceptZones", async () => {
    const upper = ZONE.toUpperCase();
    const options = { exceptZones: [upper] };
    expect(await messages(zonesNeedManagedRuleset(options), settingsOf(ZONE))).toEqual([]);
    expect(await zones(settingsOf(ZONE), edgeguard("ManagedRulesetOverride", { zoneId: upper }))).toEqual([]);
  });

  test("counts this package's ruleset for an account, but none for responses or in a zone that isn't known yet", async () => {
    const ruleset = { accountId: "a", ruleset: "WAF", expression: 'cf.zone.plan eq "ENT"' };
    const deployed = (more: object): Promise<string[]> =>
      zones(settingsOf(ZONE), edgeguard("ManagedRulesetOverride", { ...ruleset, ...more }));
    expect(await deployed({})).toEqual([]);
    expect(await deployed({ phase: "http_response_firewall_managed" })).toEqual([ZONE]);
    expect(
      await deployed({ zoneId: ZONE, phase: "http_response_firewall_managed", expression: "true" }),
    ).toEqual([ZONE]);
    expect(await deployed({ zoneId: UNKNOWN, expression: "true" })).toEqual([ZONE]);
  });

  test("accepts all zones if a ruleset is deployed for the whole account, and the zones in exceptZones", async () => {
    const account = cloudflare("Ruleset", {
      accountId: "a",
      phase: "http_request_firewall_managed",
      rules: [{ action: "execute" }],
    });
    expect(await zones(settingsOf(ZONE), account)).toEqual([]);
    expect(await messages(zonesNeedManagedRuleset({ exceptZones: [ZONE] }), settingsOf(ZONE))).toEqual([]);
  });
});

describe("policies that need something of a zone's plan", () => {
  const policy = (zoneId: string): Analyzed => edgeguard("PageShieldPolicy", { zoneId, name: zoneId });
  const settings = (enabled: unknown): Analyzed => edgeguard("PageShieldSettings", { zoneId: ZONE, enabled });
  const OTHERS = `zone ${OTHER}, which has resources in this stack.`;
  const ELSE = "or list the zone in exceptZones if another stack protects it.";

  test("zones-need-page-shield rejects each zone without Page Shield, except for listed ones", async () => {
    const found = (...resources: Analyzed[]): Promise<string[]> =>
      messages(zonesNeedPageShield(), policy(ZONE), policy(OTHER), ...resources);
    const lacking = [
      expect.stringContaining(ZONE) as string,
      `Page Shield isn't on in ${OTHERS} Turn it on with a PageShieldSettings with enabled: true, ${ELSE}`,
    ];
    expect(await found(settings(true))).toEqual(lacking.slice(1));
    expect(await found(settings(UNKNOWN))).toEqual(lacking.slice(1));
    expect(await found(settings(false))).toEqual(lacking);
    expect(await found()).toEqual(lacking);
    const exceptZones = [ZONE, OTHER.toUpperCase()];
    expect(await messages(zonesNeedPageShield({ exceptZones }), policy(ZONE), policy(OTHER))).toEqual([]);
  });

  test.each<[string, Analyzed, boolean]>([
    ["a job", edgeguard("LogpushJob", { zoneId: ZONE, dataset: "firewall_events" }), true],
    [
      "a job whose dataset isn't known yet",
      edgeguard("LogpushJob", { zoneId: ZONE, dataset: UNKNOWN }),
      true,
    ],
    [
      "a disabled job",
      edgeguard("LogpushJob", { zoneId: ZONE, dataset: "firewall_events", enabled: false }),
      false,
    ],
    ["a job of another dataset", edgeguard("LogpushJob", { zoneId: ZONE, dataset: "http_requests" }), false],
    [
      "an enabled job of @pulumi/cloudflare",
      cloudflare("LogpushJob", { zoneId: ZONE, dataset: "firewall_events", enabled: true }),
      true,
    ],
    [
      "a job of @pulumi/cloudflare that nobody enabled",
      cloudflare("LogpushJob", { zoneId: ZONE, dataset: "firewall_events" }),
      false,
    ],
  ])("zones-log-firewall-events judges a zone with %s", async (_, job, logs) => {
    const found = await messages(zonesLogFirewallEvents(), policy(ZONE), job, policy(OTHER));
    expect(found.slice(logs ? 0 : 1)).toEqual([
      `no Logpush job pushes the firewall events of ${OTHERS} Add an enabled LogpushJob with dataset firewall_events, ${ELSE}`,
    ]);
  });

  test("page-shield-stays-on rejects settings that turn Page Shield off, and no others", async () => {
    const found = (enabled: unknown): Promise<string[]> => messages(pageShieldStaysOn(), settings(enabled));
    expect(await found(false)).toEqual([
      "enabled: false turns Page Shield off, and nobody sees what scripts do. Set enabled: true.",
    ]);
    expect([...(await found(true)), ...(await found(UNKNOWN))]).toEqual([]);
  });
});

describe("edgePolicies", () => {
  const NAMES = [
    "allow-needs-log",
    "zones-need-managed-ruleset",
    "migration-needs-protect",
    "no-plain-credential",
    "prune-stays-under-limit",
    "no-force-destroy-in-production",
  ];

  test("returns the policies that suit every zone, each with a name, a description and a level", () => {
    const policies = edgePolicies();
    expect(policies.map(({ name }) => name)).toEqual(NAMES);
    for (const { description, enforcementLevel } of policies) {
      expect(description).toMatch(/^[A-Z].*\.$/);
      expect(enforcementLevel).toBe("mandatory");
    }
    for (const { enforcementLevel } of edgePolicies({ enforcementLevel: "disabled" }))
      expect(enforcementLevel).toBe("disabled");
  });

  test("passes the options set by the pack's author to the engine as defaults", () => {
    const schemas = edgePolicies({ maxPruned: 7, exceptZones: [ZONE] }).map(({ name, configSchema }) => [
      name,
      configSchema?.properties,
    ]);
    expect(Object.fromEntries(schemas)).toMatchObject({
      "prune-stays-under-limit": { maxPruned: { default: 7 } },
      "zones-need-managed-ruleset": { exceptZones: { default: [ZONE] } },
    });
  });
});

test("the README's first program violates none of the policies", async () => {
  const folder = mkdtempSync(join(__dirname, "readme-"));
  const file = join(folder, "index.ts");
  writeFileSync(file, programsOf("README.md")[0]?.text ?? "");
  const { resources } = await runProgram(() => import(file)).finally(() =>
    rmSync(folder, { recursive: true }),
  );
  expect(resources).toHaveLength(3);
  const analyzed = resources.map(({ type, name, inputs }) => edgeguard(type, { ...inputs, name }));
  expect(await analyze(edgePolicies(), analyzed)).toEqual([]);
});
