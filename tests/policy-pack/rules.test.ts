import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Declared, Settings } from "../../examples/policy-pack/declared";
import { functionFindings } from "../../examples/policy-pack/functions";
import * as rules from "../../examples/policy-pack/rules";
import { reviewedZones } from "../../examples/policy-pack/snapshots";

const ZONE = "0da42c8d2132a9ddaf714f9e7c920711";
const OTHER = "1da42c8d2132a9ddaf714f9e7c920712";

const settings: Settings = {
  plan: "free",
  usageModel: "standard",
  production: "^prod",
  reviewedZones: new Set([OTHER]),
  folder: __dirname,
};

function declared(type: string, props: Record<string, unknown>, stack = "dev"): Declared {
  const name = typeof props["name"] === "string" ? props["name"] : "one";
  return { type, name, urn: `urn:pulumi:${stack}::shop::${type}::${name}`, props };
}
const ours = (type: string, props: Record<string, unknown>, stack?: string): Declared =>
  declared(`pulumi-nodejs:dynamic/edgeguard:${type}`, props, stack);
const vendors = (type: string, props: Record<string, unknown>): Declared =>
  declared(`cloudflare:index/${type.charAt(0).toLowerCase()}${type.slice(1)}:${type}`, props);

/** What is not known in a preview: asking for it throws, as the policy SDK has it. */
const notKnown = (...names: string[]): Record<string, unknown> =>
  Object.defineProperties(
    {},
    Object.fromEntries(
      names.map((name) => [
        name,
        {
          enumerable: true,
          get: () => {
            throw new Error("not known yet");
          },
        },
      ]),
    ),
  );

describe("an allow policy", () => {
  const found = (props: Record<string, unknown>): string[] =>
    rules.allowNeedsSnapshot(ours("PageShieldPolicy", props), settings);

  test("needs a reviewed snapshot of its zone", () => {
    expect(found({ action: "allow", zoneId: ZONE })).toEqual([
      expect.stringContaining(`edgeguard detections save --zone ${ZONE}`),
    ]);
    expect(found({ action: "allow", zoneId: OTHER })).toEqual([]);
    expect(found({ action: "log", zoneId: ZONE })).toEqual([]);
    expect(found(notKnown("action", "zoneId"))).toEqual([]);
  });

  test("is not excused by a snapshot that nobody committed, or that was changed since", () => {
    const folder = mkdtempSync(join(tmpdir(), "edgeguard-policy-"));
    const git = (...args: string[]): Buffer =>
      execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", ...args], {
        stdio: "pipe",
      });
    const save = (...scripts: object[]): void =>
      writeFileSync(join(folder, "detections.json"), JSON.stringify({ version: 1, zoneId: ZONE, scripts }));
    try {
      const zones = (): string[] => [...reviewedZones(folder, ["detections.json", "none.json"])];
      expect(zones()).toEqual([]);
      save();
      expect(zones()).toEqual([ZONE]); // Without git nothing tells more.
      git("init", "--quiet");
      expect(zones()).toEqual([]);
      git("add", "detections.json");
      expect(zones()).toEqual([]);
      git("commit", "--quiet", "--message", "seen");
      expect(zones()).toEqual([ZONE]);
      save({ url: "https://new.example/a.js", host: "shop.example" });
      expect(zones()).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

test("a migration beyond its assessment needs a confirmation", () => {
  const found = (props: Record<string, unknown>): string[] =>
    rules.migrationNeedsConfirmation(ours("WafMigration", props));
  expect(found({ zoneId: ZONE, target: "finished" })).toEqual([
    expect.stringMatching(/to "finished" cannot be undone and is not confirmed/),
  ]);
  expect(found({ zoneId: ZONE, target: "validation" })).toHaveLength(1);
  expect(found({ zoneId: ZONE, target: "validation", confirm: "a".repeat(64) })).toEqual([]);
  expect(found({ zoneId: ZONE, target: "assessed" })).toEqual([]);
});

describe("a log-push job's credential", () => {
  const found = (resource: Declared): string[] => rules.noCredentialInPlainSight(resource);
  test.each([
    "https://logs.example/in?header_Authorization=Basic%20abcdefghijkl",
    "s3://logs/http?access-key-id=AKIAABCDEFGHIJKLMNOP&secret-access-key=s3cret",
    "https://logs.example/?sv=1&sig=s3cret",
    "Bearer s3cret-s3cret",
  ])("is found outside of its destination: %s", (value) => {
    const [message, ...more] = found(
      ours("LogpushJob", { destinationConf: value, extra: { nested: [value] } }),
    );
    expect(message).toBe(
      "extra holds what looks like a credential, and is no secret: it belongs into destination.",
    );
    expect(more).toEqual([]);
    expect(found(vendors("LogpushJob", { destinationConf: value }))).toEqual([
      expect.stringMatching(/pulumi\.secret\(\)/),
    ]);
  });

  test.each([
    "s3://logs/http/{DATE}?region=us-east-1",
    "https://logs.example/in",
    "the token bucket",
    'http.host eq "a"',
  ])("is not seen in %s", (value) => {
    expect(found(ours("LogpushJob", { name: value, filter: value }))).toEqual([]);
    expect(found(vendors("LogpushJob", { destinationConf: value }))).toEqual([]);
  });
});

test("forceDestroy is refused in production alone", () => {
  const found = (stack: string, forceDestroy: unknown): string[] =>
    rules.noForceDestroyInProduction(
      ours("KvNamespace", { title: "catalog", forceDestroy }, stack),
      settings,
    );
  expect(found("production", true)).toEqual([
    expect.stringMatching(/stack "production" delete every key of namespace "catalog"/),
  ]);
  expect(found("prod-eu", true)).toHaveLength(1);
  expect(found("dev", true)).toEqual([]);
  expect(found("production", false)).toEqual([]);
  expect(found("production", undefined)).toEqual([]);
});

describe("a zone of the stack", () => {
  const settingsOf = (zoneId: string): Declared => ours("PageShieldSettings", { zoneId, name: zoneId });
  const zones = (...resources: Declared[]): string[] =>
    rules.zonesNeedManagedRuleset(resources).map(({ message }) => /zone (\w+)/.exec(message)?.[1] ?? "");

  test("needs a managed ruleset, and is named once", () => {
    expect(zones(settingsOf(ZONE), ours("PageShieldPolicy", { zoneId: ZONE }), settingsOf(OTHER))).toEqual([
      ZONE,
      OTHER,
    ]);
    expect(rules.zonesNeedManagedRuleset([settingsOf(ZONE)])[0]?.urn).toContain(ZONE);
    expect(zones(ours("PageShieldSettings", notKnown("zoneId")))).toEqual([]);
  });

  test.each<[string, Declared]>([
    ["ours", ours("ManagedRulesetOverride", { zoneId: ZONE })],
    ["a migration", ours("WafMigration", { zoneId: ZONE, target: "finished" })],
    [
      "the vendor's",
      vendors("Ruleset", {
        zoneId: ZONE,
        phase: "http_request_firewall_managed",
        rules: [{ action: "execute" }],
      }),
    ],
  ])("is content with %s", (_, deployment) => {
    expect(zones(settingsOf(ZONE), deployment, settingsOf(OTHER))).toEqual([OTHER]);
  });

  test.each<[string, Declared]>([
    ["one that is turned off", ours("ManagedRulesetOverride", { zoneId: ZONE, enabled: false })],
    ["an assessment", ours("WafMigration", { zoneId: ZONE, target: "assessed" })],
    [
      "custom rules",
      vendors("Ruleset", {
        zoneId: ZONE,
        phase: "http_request_firewall_custom",
        rules: [{ action: "execute" }],
      }),
    ],
    [
      "an empty entry point",
      vendors("Ruleset", { zoneId: ZONE, phase: "http_request_firewall_managed", rules: [] }),
    ],
  ])("is not content with %s", (_, deployment) => {
    expect(zones(settingsOf(ZONE), deployment)).toEqual([ZONE]);
  });

  test("may be reached by a deployment for the whole account", () => {
    const account = vendors("Ruleset", {
      accountId: "a",
      phase: "http_request_firewall_managed",
      rules: [{ action: "execute" }],
    });
    expect(zones(settingsOf(ZONE), account)).toEqual([]);
  });
});

describe("functions of @pulumi/cloudflare", () => {
  const many = (count: number): unknown[] => Array.from({ length: count }, (_, i) => i);
  const errors = (...resources: Declared[]): string[] =>
    functionFindings(resources, settings, "error").map(
      ({ urn, message }) => `${urn.split("::").at(-1) ?? ""}: ${message}`,
    );
  const script = (props: Record<string, unknown>): Declared =>
    vendors("WorkersScript", { scriptName: "shop", name: "shop", ...props });

  test("are held against the size of their code, given as text or as a file", () => {
    const large = randomBytes(1_200_000).toString("base64");
    expect(errors(script({ content: large }))).toEqual([
      expect.stringMatching(/^shop: Function size after compression: .* free plan is 1 MB/),
    ]);
    const folder = mkdtempSync(join(tmpdir(), "edgeguard-policy-"));
    writeFileSync(join(folder, "worker.js"), large);
    const found = functionFindings([script({ contentFile: "worker.js" })], { ...settings, folder }, "error");
    rmSync(folder, { recursive: true });
    expect(found).toHaveLength(1);
    expect(errors(script({ content: "export default {}" }))).toEqual([]);
    expect(errors(vendors("WorkersScript", notKnown("content", "bindings")))).toEqual([]);
  });

  test("are held against their variables, in the forms of the provider's versions", () => {
    const value = "s3cret".repeat(1_000);
    const now = script({
      bindings: [
        { type: "plain_text", name: "A", text: value },
        { type: "kv_namespace", name: "B" },
      ],
    });
    const before = vendors("WorkerScript", {
      name: "shop",
      secretTextBindings: [{ name: "A", text: value }],
    });
    for (const resource of [now, before]) {
      expect(errors(resource)).toEqual([expect.stringMatching(/Environment variable "A": 6,000 bytes/)]);
      expect(errors(resource).join()).not.toContain("s3cret");
    }
    const bindings = many(65).map((i) => ({ type: "json", name: `V${String(i)}`, json: "{}" }));
    expect(errors(script({ bindings }))).toEqual([
      expect.stringMatching(/Environment variables per function: 65/),
    ]);
  });

  test("are held against their triggers and routes, and the account's triggers together", () => {
    const trigger = vendors("WorkersCronTrigger", {
      scriptName: "shop",
      schedules: many(6).map((i) => ({ cron: `${String(i)} * * * *` })),
    });
    const older = vendors("WorkerCronTrigger", { scriptName: "other", schedules: ["0 * * * *"] });
    expect(errors(script({}), trigger, older)).toEqual([
      expect.stringMatching(/Scheduled triggers of this function alone: 6/),
      expect.stringMatching(/Scheduled triggers per account: 7/),
    ]);
    const routes = many(1_001).map((i) =>
      vendors("WorkersRoute", { script: "shop", zoneId: ZONE, pattern: `a${String(i)}.example/*` }),
    );
    expect(errors(script({}), ...routes)).toEqual([
      expect.stringMatching(/Routes of this function in zone .*: 1,001/),
    ]);
  });

  test("are warned of near a limit, by a rule of its own", () => {
    const near = many(81).map((i) => vendors("WorkersScript", { scriptName: `f${String(i)}` }));
    expect(functionFindings(near, settings, "error")).toEqual([]);
    expect(functionFindings(near, settings, "warning")).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/Functions per account: 81, 81% of the limit of 100/) as string,
      }),
    ]);
  });
});
