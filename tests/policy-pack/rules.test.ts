import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Declared, Settings } from "../../examples/policy-pack/declared";
import { workerFindings } from "../../examples/policy-pack/workers";
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
const edgeguard = (type: string, props: Record<string, unknown>, stack?: string): Declared =>
  declared(`pulumi-nodejs:dynamic/edgeguard:${type}`, props, stack);
const cloudflare = (type: string, props: Record<string, unknown>): Declared =>
  declared(`cloudflare:index/${type.charAt(0).toLowerCase()}${type.slice(1)}:${type}`, props);

/** Properties that a preview doesn't know yet: the policy SDK throws when they are read. */
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

describe("a Page Shield policy with action allow", () => {
  const found = (props: Record<string, unknown>): string[] =>
    rules.allowNeedsSnapshot(edgeguard("PageShieldPolicy", props), settings);

  test("needs a reviewed snapshot of its zone", () => {
    expect(found({ action: "allow", zoneId: ZONE })).toEqual([
      expect.stringContaining(`edgeguard detections save --zone ${ZONE}`),
    ]);
    expect(found({ action: "allow", zoneId: OTHER })).toEqual([]);
    expect(found({ action: "log", zoneId: ZONE })).toEqual([]);
    expect(found(notKnown("action", "zoneId"))).toEqual([]);
  });

  test("doesn't accept a snapshot that isn't committed or that has changed since", () => {
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
      expect(zones()).toEqual([ZONE]); // Without git, every file counts.
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

test("a WAF migration needs a confirmation unless it only assesses", () => {
  const found = (props: Record<string, unknown>): string[] =>
    rules.migrationNeedsConfirmation(edgeguard("WafMigration", props));
  expect(found({ zoneId: ZONE, target: "finished" })).toEqual([
    expect.stringMatching(/to "finished" can't be undone and is not confirmed/),
  ]);
  expect(found({ zoneId: ZONE, target: "validation" })).toHaveLength(1);
  expect(found({ zoneId: ZONE, target: "validation", confirm: "a".repeat(64) })).toEqual([]);
  expect(found({ zoneId: ZONE, target: "assessed" })).toEqual([]);
});

describe("Logpush credentials", () => {
  const found = (resource: Declared): string[] => rules.noPlaintextCredential(resource);
  test.each([
    "https://logs.example/in?header_Authorization=Basic%20abcdefghijkl",
    "s3://logs/http?access-key-id=AKIAABCDEFGHIJKLMNOP&secret-access-key=s3cret",
    "https://logs.example/?sv=1&sig=s3cret",
    "Bearer s3cret-s3cret",
  ])("reports a credential outside of destination: %s", (value) => {
    const [message, ...more] = found(
      edgeguard("LogpushJob", { destinationConf: value, extra: { nested: [value] } }),
    );
    expect(message).toBe(
      "extra contains what looks like a credential but isn't secret. Move the credential to destination.",
    );
    expect(more).toEqual([]);
    expect(found(cloudflare("LogpushJob", { destinationConf: value }))).toEqual([
      expect.stringMatching(/pulumi\.secret\(\)/),
    ]);
  });

  test.each([
    "s3://logs/http/{DATE}?region=us-east-1",
    "https://logs.example/in",
    "the token bucket",
    'http.host eq "a"',
  ])("doesn't mistake %s for a credential", (value) => {
    expect(found(edgeguard("LogpushJob", { name: value, filter: value }))).toEqual([]);
    expect(found(cloudflare("LogpushJob", { destinationConf: value }))).toEqual([]);
  });
});

test("refuses forceDestroy in production only", () => {
  const found = (stack: string, forceDestroy: unknown): string[] =>
    rules.noForceDestroyInProduction(
      edgeguard("KvNamespace", { title: "catalog", forceDestroy }, stack),
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

describe("the zones of a stack", () => {
  const settingsOf = (zoneId: string): Declared => edgeguard("PageShieldSettings", { zoneId, name: zoneId });
  const zones = (...resources: Declared[]): string[] =>
    rules.zonesNeedManagedRuleset(resources).map(({ message }) => /zone (\w+)/.exec(message)?.[1] ?? "");

  test("requires a managed ruleset for each zone, and reports a zone without one once", () => {
    expect(
      zones(settingsOf(ZONE), edgeguard("PageShieldPolicy", { zoneId: ZONE }), settingsOf(OTHER)),
    ).toEqual([ZONE, OTHER]);
    expect(rules.zonesNeedManagedRuleset([settingsOf(ZONE)])[0]?.urn).toContain(ZONE);
    expect(zones(edgeguard("PageShieldSettings", notKnown("zoneId")))).toEqual([]);
  });

  test.each<[string, Declared]>([
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
  ])("accepts a zone covered by %s", (_, deployment) => {
    expect(zones(settingsOf(ZONE), deployment, settingsOf(OTHER))).toEqual([OTHER]);
  });

  test.each<[string, Declared]>([
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
  ])("reports a zone despite %s", (_, deployment) => {
    expect(zones(settingsOf(ZONE), deployment)).toEqual([ZONE]);
  });

  test("accepts a deployment for the whole account", () => {
    const account = cloudflare("Ruleset", {
      accountId: "a",
      phase: "http_request_firewall_managed",
      rules: [{ action: "execute" }],
    });
    expect(zones(settingsOf(ZONE), account)).toEqual([]);
  });
});

describe("Workers of @pulumi/cloudflare", () => {
  const many = (count: number): unknown[] => Array.from({ length: count }, (_, i) => i);
  const errors = (...resources: Declared[]): string[] =>
    workerFindings(resources, settings, "error").map(
      ({ urn, message }) => `${urn.split("::").at(-1) ?? ""}: ${message}`,
    );
  const script = (props: Record<string, unknown>): Declared =>
    cloudflare("WorkersScript", { scriptName: "shop", name: "shop", ...props });

  test("checks the size of a Worker's code, given as text or as a file", () => {
    const large = randomBytes(1_200_000).toString("base64");
    expect(errors(script({ content: large }))).toEqual([
      expect.stringMatching(
        /^shop: Worker size after compression: .* over the limit of 1 MB on the free plan/,
      ),
    ]);
    const folder = mkdtempSync(join(tmpdir(), "edgeguard-policy-"));
    writeFileSync(join(folder, "worker.js"), large);
    const found = workerFindings([script({ contentFile: "worker.js" })], { ...settings, folder }, "error");
    rmSync(folder, { recursive: true });
    expect(found).toHaveLength(1);
    expect(errors(script({ content: "export default {}" }))).toEqual([]);
    expect(errors(cloudflare("WorkersScript", notKnown("content", "bindings")))).toEqual([]);
  });

  test("checks a Worker's variables, as each version of @pulumi/cloudflare declares them", () => {
    const value = "s3cret".repeat(1_000);
    const now = script({
      bindings: [
        { type: "plain_text", name: "A", text: value },
        { type: "kv_namespace", name: "B" },
      ],
    });
    const before = cloudflare("WorkerScript", {
      name: "shop",
      secretTextBindings: [{ name: "A", text: value }],
    });
    for (const resource of [now, before]) {
      expect(errors(resource)).toEqual([expect.stringMatching(/Environment variable "A": 6,000 bytes/)]);
      expect(errors(resource).join()).not.toContain("s3cret");
    }
    const bindings = many(65).map((i) => ({ type: "json", name: `V${String(i)}`, json: "{}" }));
    expect(errors(script({ bindings }))).toEqual([
      expect.stringMatching(/Environment variables per Worker: 65/),
    ]);
  });

  test("checks a Worker's Cron Triggers and routes, and the account's Cron Triggers together", () => {
    const trigger = cloudflare("WorkersCronTrigger", {
      scriptName: "shop",
      schedules: many(6).map((i) => ({ cron: `${String(i)} * * * *` })),
    });
    const older = cloudflare("WorkerCronTrigger", { scriptName: "other", schedules: ["0 * * * *"] });
    expect(errors(script({}), trigger, older)).toEqual([
      expect.stringMatching(/Cron Triggers of this Worker alone: 6/),
      expect.stringMatching(/Cron Triggers per account: 7/),
    ]);
    const routes = many(1_001).map((i) =>
      cloudflare("WorkersRoute", { script: "shop", zoneId: ZONE, pattern: `a${String(i)}.example/*` }),
    );
    expect(errors(script({}), ...routes)).toEqual([
      expect.stringMatching(/Routes of this Worker in zone .*: 1,001/),
    ]);
  });

  test("warns near a limit, in a policy of its own", () => {
    const near = many(81).map((i) => cloudflare("WorkersScript", { scriptName: `f${String(i)}` }));
    expect(workerFindings(near, settings, "error")).toEqual([]);
    expect(workerFindings(near, settings, "warning")).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/Workers per account: 81, 81% of the limit of 100/) as string,
      }),
    ]);
  });
});
