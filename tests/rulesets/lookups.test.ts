import type * as pulumi from "@pulumi/pulumi";
import { managedRulesets, OWASP_SCORE_RULE, seededEntryPoints, seededRules } from "edgeguard-local";
import {
  explainZone,
  explainZoneOutput,
  getManagedRuleset,
  getManagedRulesetOutput,
  getManagedRulesets,
  getManagedRulesetsOutput,
  getZoneManagedRules,
  getZoneManagedRulesOutput,
  type LookupOptions,
} from "pulumi-edgeguard";
import { RulesetsBench, OWASP, REF, MANAGED } from "./support";
import { accounts, zones } from "../support/bench";

describe.each(["documented", "openapi"] as const)("in the API's %s dialect", (dialect) => {
  const bench = new RulesetsBench({ options: { dialect }, shared: true });
  let opts: LookupOptions;
  beforeAll(() => {
    opts = { config: { baseUrl: bench.api.url, apiToken: "local-token", accountId: accounts.main } };
  });
  const settled = <T>(output: pulumi.Output<T>): Promise<T> =>
    new Promise((done) => void output.apply((value) => done(value)));

  test("getManagedRulesets lists the account's rulesets without their rules, in one request", async () => {
    const found = await getManagedRulesets({}, opts);
    expect(found).toContainEqual({
      id: managedRulesets.owasp,
      name: OWASP,
      description: expect.any(String) as string,
      kind: "managed",
      phase: "http_request_firewall_managed",
      version: expect.stringMatching(/^\d+$/) as string,
      lastUpdated: expect.any(String) as string,
    });
    expect(found.map(({ id }) => id).sort()).toEqual(Object.values(managedRulesets).sort());
    expect(bench.api.requests).toHaveLength(1);
    expect(await settled(getManagedRulesetsOutput({}, opts))).toEqual(found);
  });

  test("getManagedRuleset reads a ruleset by ID or name, with its rules and a summary of each tag", async () => {
    const found = await getManagedRuleset({ ruleset: { name: OWASP } }, opts);
    expect(found).toEqual(await getManagedRuleset({ ruleset: { id: managedRulesets.owasp } }, opts));
    expect(found).toEqual(await settled(getManagedRulesetOutput({ ruleset: { name: OWASP } }, opts)));
    expect(found.rules.length).toBeGreaterThanOrEqual(100);
    expect(found.rules.at(-1)).toMatchObject({
      id: OWASP_SCORE_RULE,
      action: "block",
      scoreThreshold: 40,
      allowedActions: expect.arrayContaining(["managed_challenge"]) as string[],
    });
    const levels = found.tags.filter(({ tag }) => tag.startsWith("paranoia-level-"));
    expect(levels.map(({ tag }) => tag)).toEqual([1, 2, 3, 4].map((level) => `paranoia-level-${level}`));
    // Every rule but the one that compares the score has one level.
    expect(levels.reduce((sum, { rules }) => sum + rules, 0)).toBe(found.rules.length - 1);
    expect(levels.every(({ rules, on, actions }) => on === rules && actions["score"] === rules)).toBe(true);

    const { rules, tags } = await getManagedRuleset({ ruleset: { name: MANAGED } }, opts);
    const java = tags.find(({ tag }) => tag === "java");
    const tagged = rules.filter((rule) => rule.tags.includes("java"));
    expect(java).toMatchObject({ rules: tagged.length, on: tagged.filter((rule) => rule.enabled).length });
    expect(Object.values(java?.actions ?? {}).reduce((sum, count) => sum + count)).toBe(tagged.length);
  });

  test("getManagedRuleset reads an older version, and refuses one that doesn't exist", async () => {
    const latest = await getManagedRuleset({ ruleset: { name: OWASP } }, opts);
    const older = String(Number(latest.version) - 1);
    const found = await getManagedRuleset({ ruleset: { name: OWASP }, version: older }, opts);
    expect(found.version).toBe(older);
    expect(found.rules.length).not.toBe(latest.rules.length);
    await expect(getManagedRuleset({ ruleset: { name: OWASP }, version: "7" }, opts)).rejects.toThrow(
      `getManagedRuleset: version: ruleset "${OWASP}" has no version 7; the latest is ${latest.version}.`,
    );
  });

  test.each([
    [
      { name: "Cloudflare OWASP Core Rulset" },
      /has no managed ruleset "Cloudflare OWASP Core Rulset"\. Did you mean "Cloudflare OWASP Core Ruleset"\?/,
    ],
    [{ id: "0".repeat(32) }, /has no ruleset 0{32}\. Its managed rulesets: "/],
    [{ id: "x" }, /^getManagedRuleset: ruleset\.id: "x" is not a ruleset ID \(32 hex digits\)/],
    [{}, /^getManagedRuleset: ruleset: must set exactly one of id and name, but neither is set/],
  ])("getManagedRuleset refuses the ruleset %j", async (ruleset, sentence) => {
    await expect(getManagedRuleset({ ruleset } as never, opts)).rejects.toThrow(sentence);
  });

  test("getZoneManagedRules returns a zone's rules in order, or undefined if the zone has no entry point", async () => {
    const found = await getZoneManagedRules({ zoneId: bench.zone }, opts);
    expect(found).toEqual({
      id: seededEntryPoints.shop,
      version: expect.any(String) as string,
      rules: [
        expect.objectContaining({ id: seededRules.shop.monitoring, action: "skip", skips: "all" }),
        expect.objectContaining({
          ref: "security-team/managed",
          deploys: {
            rulesetId: managedRulesets.managed,
            version: "latest",
            overrides: {
              categories: [
                { tag: "wordpress", enabled: false },
                { tag: "anomaly", action: "log" },
              ],
              rules: {},
            },
          },
        }),
        expect.objectContaining({ id: seededRules.shop.credentials }),
      ],
    });
    expect(await settled(getZoneManagedRulesOutput({ zoneId: bench.zone }, opts))).toEqual(found);
    expect(await getZoneManagedRules({ zoneId: zones.empty }, opts)).toBeUndefined();
  });

  describe("explainZone", () => {
    const explained = () => explainZone({ zoneId: bench.zone }, opts);

    test("explains a zone with the same numbers that the local API computes", async () => {
      const third = (await bench.managedRules(managedRulesets.owasp)).find(({ categories }) =>
        categories.includes("paranoia-level-3"),
      );
      await bench.up(
        bench.declare({
          owasp: { paranoiaLevel: 2, scoreThreshold: "high", action: "managed_challenge" },
          rules: { [third?.id ?? ""]: { enabled: true } },
          exceptions: [
            {
              expression: 'http.request.uri.path eq "/hook"',
              skip: { rules: { [managedRulesets.owasp]: [OWASP_SCORE_RULE] } },
            },
            { expression: 'http.request.uri.path eq "/feed"', skip: { rulesets: [managedRulesets.free] } },
          ],
        }),
      );
      const { deployments } = await explained();
      expect(deployments.map(({ ref }) => ref)).toEqual([
        "security-team/managed",
        seededRules.shop.credentials,
        REF,
      ]);
      for (const { ref, rules, switchedOff } of deployments) {
        const { on, off, rules: all } = await bench.effectiveDeployment(ref);
        expect(rules).toEqual({ on, off });
        const byOverride = all.filter((rule) => !rule.enabled && rule.decided.enabled !== "default");
        expect(byOverride.map(({ id }) => id)).toEqual(
          expect.arrayContaining(switchedOff.map(({ id }) => id)),
        );
      }
      expect(deployments[2]).toMatchObject({
        enabled: true,
        ruleset: { name: OWASP },
        paranoiaLevel: 2, // One rule of level 3 doesn't raise it.
        scoreThreshold: 25,
        action: "managed_challenge",
        exceptions: [{ skips: "all" }, { skips: 1 }], // The monitoring's and the hook's. The feed's skips another ruleset.
      });
      expect(
        deployments[0]?.otherAction.every(({ by, action }) => by === "category anomaly" && action === "log"),
      ).toBe(true);
    });

    test("says what the latest version changed in the zone, and what a pinned version lacks", async () => {
      await bench.up(bench.declareManaged({ version: "87", categories: [{ tag: "nodejs", action: "log" }] }));
      const [managed, credentials, pinned] = (await explained()).deployments;
      expect(managed).toMatchObject({
        latestChange: {
          from: "87",
          to: "88",
          rules: [
            { description: expect.stringMatching(/^Next.js: /) as string, after: "block" },
            { before: "off" },
          ],
        },
      });
      expect(managed).not.toHaveProperty("behind");
      // Version 4 of that ruleset can't be read.
      expect(credentials).not.toHaveProperty("latestChange");
      expect(pinned).not.toHaveProperty("latestChange");
      expect(pinned?.behind?.rules.map(({ after = "gone" }) => after)).toEqual(["log", "gone"]);
    });

    test("explains the zone even if an earlier version can't be read", async () => {
      bench.api.fault({ match: { path: "/versions/" }, times: 9, kind: "status", status: 403 });
      // Lookups with other settings read again.
      const others = { config: { ...opts.config, maxRetries: "0" } };
      const { deployments } = await explainZone({ zoneId: bench.zone }, others);
      expect(deployments.map(({ latestChange }) => latestChange)).toEqual([undefined, undefined]);
      bench.api.clearFaults();
    });

    test("explains a zone without deployments, and reads each ruleset once", async () => {
      expect((await explainZone({ zoneId: zones.empty }, opts)).deployments).toEqual([]);
      await bench.up(bench.declare());
      await bench.up(bench.declare({ ref: `${REF}-2`, expression: "ssl" }));
      const zoneId = bench.zone;
      bench.api.clearRequests();
      await explained();
      expect(
        bench.api.requests.filter(({ path }) => path.endsWith(managedRulesets.owasp)).length,
      ).toBeLessThanOrEqual(1);
      expect(await settled(explainZoneOutput({ zoneId }, opts))).toEqual(await explained());
    });
  });
});
