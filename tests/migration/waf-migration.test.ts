import type { LocalApi, WafAction } from "edgeguard-local";
import { rawSend, refreshedInputs, type Recorded } from "../support/operation";
import { Bench, OFFLINE } from "../support/bench";
import {
  migrated,
  withConfirmation,
  createChecked,
  digestFor,
  effectiveSteps,
  entryPoint,
  OWASP,
  PUT,
  puts,
  rulesOf,
  SCORE_RULE,
  TYPE,
  CLOUDFLARE,
} from "./support";

/** One migration through the verbs, as the engine calls them. The local API tells what became of the zone. */

const b = new Bench(TYPE);
let api: LocalApi;
beforeEach(() => void (api = b.api));

const zone = (name: keyof LocalApi["zones"]): string => api.zones[name];
const RETIRED = (zoneId: string): string =>
  `target: Cloudflare has retired the migration: zone ${zoneId} can no longer be migrated or assessed. Remove its WafMigration from the program`;
const IS_TEXT = expect.any(String) as string;

describe("the firewall events of the previous rules", () => {
  const happened = (zoneId: string, times: number, action: string, ruleId: string, source = "waf"): void => {
    api.addFirewallEvents(
      zoneId,
      Array.from({ length: times }, () => ({ ruleId, action, source })),
    );
  };
  const counted = (said: readonly string[]): readonly string[] =>
    said.flatMap((line) => line.split("without the previous rules: ").slice(1));
  const queries = (): number => api.requests.filter(({ path }) => path === "/graphql").length;

  test("are counted before a step that turns those rules off, and not if nothing changed", async () => {
    const zoneId = zone("migrateBusiness");
    happened(zoneId, 3, "block", "100015");
    happened(zoneId, 1, "block", "100016");
    happened(zoneId, 2, "challenge", "981176");
    happened(zoneId, 9, "simulate", "100017");
    happened(zoneId, 9, "block", "100015", "firewallManaged");
    const op = b.operation();
    const recorded = await op.up(TYPE, { zoneId, target: "assessed" });
    const lines = [
      "block → off: at most 4 events of the last 24 h would have passed (2 rules; 3 of rule 100015)",
      "challenge → off: at most 2 events of the last 24 h would have passed (rule 981176)",
      "what the new rules stop instead: not known from events",
    ];
    expect(counted(op.said)).toEqual(lines);
    expect(queries()).toBe(2);
    api.clearRequests();
    const again = b.operation();
    await again.preview(TYPE, { zoneId, target: "assessed" }, recorded);
    expect([counted(again.said), queries()]).toEqual([[], 0]);
    const step = b.operation();
    await step.preview(TYPE, await withConfirmation(api, { zoneId, target: "finished" }, recorded), recorded);
    expect(counted(step.said)).toEqual(lines);
  });

  test("aren't counted for a step to validation, which leaves those rules on", async () => {
    const zoneId = zone("migrateEnterprise");
    const op = b.operation();
    await op.preview(TYPE, await withConfirmation(api, { zoneId, target: "validation" }));
    expect([counted(op.said), queries()]).toEqual([[], 0]);
  });

  test("are one line if they can't be counted, or if there are none", async () => {
    const inputs = { zoneId: zone("migrateBusiness"), target: "assessed" };
    const none = b.operation();
    await none.preview(TYPE, inputs);
    expect(counted(none.said)[0]).toBe("block → off: no event of the last 24 h");
    api.fault({ kind: "status", status: 403, code: 10000, match: { path: "/graphql" } });
    const op = b.operation();
    await op.preview(TYPE, inputs);
    expect(counted(op.said)).toEqual([
      "events weren't counted: the token needs Analytics Read (in the dashboard: Zone > Analytics > Read)",
      "what the new rules stop instead: not known from events",
    ]);
  });
});

describe("assessing a zone", () => {
  test("only reads the zone; every preview shows no change, and at most 15 lines plus one per rule", async () => {
    const assessable = (name: string): boolean => /^migrate(?!Retired)/.test(name);
    for (const [name, zoneId] of Object.entries(api.zones).filter(([name]) => assessable(name))) {
      const inputs = { zoneId, target: "assessed" };
      const op = b.operation();
      const recorded = await op.up(TYPE, inputs);
      const again = b.operation();
      expect({ name, step: (await again.preview(TYPE, inputs, recorded)).step }).toEqual({
        name,
        step: "same",
      });
      const rule = /^ {2}\d+\. (execute|skip) /;
      const lines = again.said
        .join("\n")
        .split("\n")
        .filter((line) => !rule.test(line));
      expect(lines.length).toBeLessThanOrEqual(15);
      expect(lines[0]).toContain(`WafMigration of zone ${zoneId}`);
      expect(await b.refresh(recorded)).toEqual({
        ...recorded,
        inputs: refreshedInputs(recorded),
      });
    }
    expect(puts(api)).toEqual([]);
  });

  test("records the assessment in the update if the preview couldn't read the zone; the next preview shows no change", async () => {
    const inputs = { zoneId: zone("migratePro"), target: "assessed" };
    api.fault({ kind: "status", status: 503, match: { path: "waf_migration/status" } });
    const op = b.operation();
    const recorded = await op.up(TYPE, inputs);
    expect(op.warned).toEqual([expect.stringContaining("live checks skipped")]);
    const again = await b.preview(inputs, recorded);
    expect(again.step).toBe("same");
    expect(recorded.outputs["assessment"]).toEqual(again.inputs["assessment"]);
  });

  test("shows what a step would do, and the digest that confirms it", async () => {
    const op = b.operation();
    const inputs = { zoneId: zone("migrateEnterprise"), target: "assessed", plan: "enterprise" };
    const { outputs } = await op.up(TYPE, inputs);
    const text = op.said.join("\n");
    for (const words of [
      "eligible; the previous rules are active",
      "1. skip all remaining rules where ip.src in {203.0.113.0/28}",
      "3. execute Cloudflare Managed Ruleset: 2 rules changed (1 off, 1 block)",
      "4. execute Cloudflare OWASP Core Ruleset: paranoia level 1, score threshold 40 (medium), action block",
      "OWASP sensitivity low -> paranoia level 1, score threshold 40 (medium); action block -> block",
      "not carried over: 1 OWASP group override: OWASP XSS Attacks; 2 OWASP rule overrides: 960001, 981002",
      "converted to exceptions (skip rules): 1 of 1 firewall bypass rule, 1 of 1 WAF-disabling page rule",
      "packages, groups and rules stops working; replace it with ManagedRulesetOverride",
      "Security > WAF > Managed rules",
      `to finish: target: "finished", confirm: "${String(outputs["configurationDigest"])}"`,
      'to validate (Enterprise only): target: "validation", confirm: "',
      "no step can be undone",
    ])
      expect(text).toContain(words);
    expect(outputs).toMatchObject({
      compatible: true,
      migrationState: "start",
      previousRulesEnabled: true,
      newRulesEnabled: false,
      history: [{ step: "assessed", event: "assessed", at: IS_TEXT }],
      configurationDigest: await digestFor(api, { zoneId: inputs.zoneId, target: "finished" }),
    });
    expect(outputs["proposedConfiguration"]).toContainEqual({
      action: "execute",
      expression: "true",
      enabled: true,
      actionParameters: {
        id: OWASP,
        overrides: {
          categories: [2, 3, 4].map((n) => ({ category: `paranoia-level-${n}`, enabled: false })),
          rules: [{ id: SCORE_RULE, action: "block", scoreThreshold: 40 }],
        },
      },
    });
    expect(outputs["findings"]).toContainEqual({
      weight: "lost",
      about: "owaspRules",
      text: "not carried over: 2 OWASP rule overrides: 960001, 981002",
      items: ["960001", "981002"],
    });
  });

  test.each([
    [
      "migrateOverrides",
      [
        /URI-based override [0-9a-f]{32} \(.*checkout.*\) must be deleted first: DELETE \/zones\/.{32}\/firewall\/waf\/overrides\/[0-9a-f]{32}/,
        /blog/,
      ],
      false,
    ],
    [
      "migrateManyRules",
      [/201 of \d+ firewall rules bypass the managed rules .*limit is 200\. Contact Cloudflare Support/],
      true,
    ],
    [
      "migrateLongRule",
      [/expression of firewall rule [0-9a-f]{32} is 4097 bytes; the limit is 4096\. Contact/],
      true,
    ],
  ] as const)("reports that zone %s is blocked, and why", async (name, sentences, compatible) => {
    const op = b.operation();
    const recorded = await op.up(TYPE, { zoneId: zone(name), target: "assessed" });
    expect(recorded.outputs).toMatchObject({ compatible });
    expect(recorded.outputs).not.toHaveProperty("confirm");
    const refused = await b.refusals({ zoneId: zone(name), target: "finished" }, recorded);
    expect(refused).toEqual([
      expect.stringMatching(
        /^target: can't be "finished" yet: zone .* is blocked, so the migration won't proceed/,
      ),
    ]);
    for (const sentence of sentences) {
      expect(op.said[0]).toMatch(sentence);
      expect(refused[0]).toMatch(sentence);
    }
    expect(puts(api)).toEqual([]);
  });

  test("doesn't block a zone that's exactly at the limits", async () => {
    const recorded = await migrated(api, { zoneId: zone("migrateLimits"), target: "finished" });
    expect(recorded.outputs).toMatchObject({ migrationState: "finished" });
    expect(await rulesOf(api, zone("migrateLimits"))).toHaveLength(202);
  });

  test("prints an assessment in full if it's new or changed, otherwise in one line, and not at all if quiet", async () => {
    const inputs = { zoneId: zone("migratePro"), target: "assessed" };
    const said = async (declared: object, previous?: Recorded): Promise<string[]> => {
      const op = b.operation();
      await op.preview(TYPE, { ...declared }, previous);
      return op.said;
    };
    const recorded = await b.up(inputs);
    expect((await said(inputs))[0]?.split("\n").length).toBeGreaterThan(5);
    expect(await said(inputs, recorded)).toEqual([
      `edgeguard: WafMigration of zone ${inputs.zoneId}: eligible; the previous rules are active. The assessment hasn't changed since the last update; for details, see the resource's \`assessment\` output.`,
    ]);
    expect(await said({ ...inputs, quiet: true }, recorded)).toEqual([]);
    api.inDashboard(inputs.zoneId, { do: "package", sensitivity: "medium" });
    expect((await said({ ...inputs, quiet: true }, recorded))[0]).toContain("OWASP sensitivity medium");
  });

  test("shows an update that only records the change if the assessment changes", async () => {
    const inputs = { zoneId: zone("migratePro"), target: "assessed" };
    const recorded = await b.up(inputs);
    api.inDashboard(inputs.zoneId, { do: "package", sensitivity: "medium" });
    const op = b.operation();
    const plan = await op.preview(TYPE, inputs, recorded);
    expect(plan.step).toBe("update");
    expect(plan.inputs["assessment"]).toMatchObject({
      state: "start",
      verdict: "eligible; the previous rules are active",
      lines: expect.arrayContaining([
        expect.stringContaining("OWASP sensitivity medium -> paranoia level 1, score threshold 25 (high)"),
      ]) as unknown,
    });
    const updated = await b.up(inputs, recorded);
    expect(updated.outputs["history"]).toEqual(recorded.outputs["history"]);
    expect(updated.outputs["configurationDigest"]).not.toBe(recorded.outputs["configurationDigest"]);
    expect(await b.step(inputs, updated)).toBe("same");
    expect(puts(api)).toEqual([]);
  });

  test.each([
    [
      "/firewall/rules",
      "couldn't read the firewall rules (Cloudflare returned 403; grant the token Firewall Services Read (in the dashboard: Zone > Firewall Services > Read)). Check them manually",
    ],
    [
      "/pagerules",
      "couldn't read the page rules (Cloudflare returned 403; grant the token Page Rules Read (in the dashboard: Zone > Page Rules > Read)). Check them manually",
    ],
  ])("assesses the zone even if %s can't be read, and says so", async (path, words) => {
    api.fault({ kind: "status", status: 403, code: 10000, match: { path } });
    const op = b.operation();
    const { outputs } = await op.up(TYPE, { zoneId: zone("migratePro"), target: "assessed" });
    expect(op.said[0]).toContain("eligible, but some rules couldn't be counted");
    expect(op.said[0]).toContain(words);
    expect(outputs["findings"]).toContainEqual(
      expect.objectContaining({ weight: "notCounted", text: words }),
    );
  });

  test("keeps the recorded assessment if the zone can't be read, and shows no change", async () => {
    const inputs = { zoneId: zone("migratePro"), target: "assessed" };
    const recorded = await b.up(inputs);
    const anonymous = b.operation({ config: { "edgeguard:apiToken": "" } });
    expect(await anonymous.preview(TYPE, inputs, recorded)).toMatchObject({ step: "same" });
    expect(anonymous.warned).toEqual([expect.stringContaining("live checks skipped")]);
    const blind = b.operation(OFFLINE);
    expect(await blind.preview(TYPE, inputs, recorded)).toMatchObject({ step: "same" });
    // Created without live checks, it shows no change later, either.
    const made = await blind.up(TYPE, inputs);
    expect(made.outputs).toMatchObject({ compatible: true });
    expect(await blind.preview(TYPE, inputs, made)).toMatchObject({ step: "same" });
  });

  test.each([404, 410] as const)(
    "fails the preview of every target once Cloudflare has retired the migration (%i), but refreshes and destroys",
    async (status) => {
      const zoneId = zone("migratePro");
      const recorded = await b.up({ zoneId, target: "assessed" });
      api.inDashboard(zoneId, { do: "retire", status });
      for (const target of ["assessed", "validation", "finished"])
        expect(await b.refusals({ zoneId, target }, recorded)).toEqual([RETIRED(zoneId)]);
      expect((await b.refresh(recorded)).outputs).toMatchObject({ migrationState: "retired" });
      await b.destroy(recorded);
      expect((await b.operation().get(TYPE, zoneId)).outputs).toMatchObject({ migrationState: "retired" });
      expect(puts(api)).toEqual([]);
    },
  );

  describe("once Cloudflare has removed the previous WAF's own paths (410),", () => {
    const gone = (path: string): void =>
      api.fault({ kind: "status", status: 410, times: 50, match: { method: "GET", path } });

    test("nothing can be assessed or migrated, and nobody is asked to check anything", async () => {
      const zoneId = zone("migrateEnterprise");
      gone("/firewall/");
      const op = b.operation();
      for (const target of ["assessed", "validation", "finished"])
        expect(await op.refusals(TYPE, { zoneId, target })).toEqual([RETIRED(zoneId)]);
      expect(op.warned).toEqual([]);
    });

    test.each(["/firewall/rules", "/firewall/waf/overrides", "/firewall/waf/packages"])(
      "one of them (%s) isn't enough",
      async (path) => {
        gone(`${path}$`);
        const { outputs } = await b.up({ zoneId: zone("migratePro"), target: "assessed" });
        expect(outputs["findings"]).toContainEqual(
          expect.objectContaining({
            weight: "notCounted",
            text: expect.stringContaining("Cloudflare returned 410") as string,
          }),
        );
      },
    );

    test.each(["assessed", "finished"])("a finished zone with target %s shows no change", async (target) => {
      const done = await migrated(api, { zoneId: zone("migratePro"), target: "finished" });
      const inputs = target === "finished" ? done.inputs : { zoneId: zone("migratePro"), target };
      const recorded = target === "finished" ? done : await b.up(inputs);
      gone("/firewall/");
      expect(await b.step(inputs, recorded)).toBe("same");
      api.inDashboard(zone("migratePro"), { do: "retire", status: 410 });
      expect(await b.step(inputs, recorded)).toBe("same");
      expect((await b.refresh(recorded)).outputs).toEqual(recorded.outputs);
    });
  });

  test("reports the migration as retired after a proxy's 404 only if the zone itself still responds", async () => {
    const page = { kind: "raw", status: 404, body: "<html>" } as const;
    const inputs = { zoneId: zone("migratePro"), target: "assessed" };
    api.fault({ ...page, match: { path: "/waf_migration/" } });
    const op = b.operation();
    const { failures } = await op.check(TYPE, inputs);
    expect(failures).toEqual([expect.objectContaining({ reason: RETIRED(inputs.zoneId) })]);
    api.fault({ ...page, match: {}, times: 2 });
    const lost = b.operation();
    await lost.check(TYPE, inputs);
    expect(lost.said).toEqual([]);
    expect(lost.warned).toEqual([expect.stringMatching(/live checks skipped: .* 404 /)]);
  });

  test("doesn't report the migration as retired if the zone doesn't exist", async () => {
    const op = b.operation();
    const nowhere = { zoneId: "0".repeat(32), target: "assessed" };
    expect(await op.refusals(TYPE, nowhere)).toEqual([expect.stringMatching(/zone .*does not exist/i)]);
    await expect(op.up(TYPE, nowhere)).rejects.toThrow(/does not exist/);
  });
});

describe("confirming a step", () => {
  test("is required: without a confirmation or with a wrong one, nothing is sent, and the error says what to confirm", async () => {
    const inputs = { zoneId: zone("migratePro"), target: "finished" };
    const [missing] = await b.refusals(inputs);
    expect(missing).toMatch(
      /^confirm: is missing, so the migration won't proceed\. .*set confirm: "[0-9a-f]{64}"/,
    );
    expect(missing).toMatch(/gets 2 rules with waf_migration=pending\. .*no step can be undone/);
    expect(missing).toMatch(
      /2\. execute Cloudflare OWASP Core Ruleset: paranoia level 2, score threshold 40/,
    );
    const other = { ...inputs, confirm: "0".repeat(64) };
    expect(await b.refusals(other)).toEqual([
      expect.stringMatching(/^confirm: doesn't match the current migration step/),
    ]);
    // If the preview couldn't check, the update does.
    const blind = b.operation(OFFLINE);
    await expect(blind.up(TYPE, inputs)).rejects.toThrow(
      /confirm is missing, so the migration won't proceed/,
    );
    await expect(blind.up(TYPE, other)).rejects.toThrow(/confirm doesn't match/);
    expect(puts(api)).toEqual([]);
  });

  test("for validation shows that the new version runs first, and says to check the security events", async () => {
    const inputs = { zoneId: zone("migrateEnterprise"), plan: "enterprise", target: "validation" };
    const [missing] = await b.refusals(inputs);
    expect(missing).toContain(
      "waf_migration=validation. This turns on both versions, and the new one runs first; no step can be undone",
    );
    const op = b.operation();
    await op.up(TYPE, await withConfirmation(api, inputs));
    expect(op.said.join("\n")).toContain(
      'reached validation. Both versions of the managed rules are running now, the new one first. Check the security events, adjust the new rules, then set target: "finished".',
    );
  });

  test("is valid for one zone and one target only", async () => {
    const digests = await Promise.all([
      digestFor(api, { zoneId: zone("migrateEnterprise"), target: "validation" }),
      digestFor(api, { zoneId: zone("migrateEnterprise"), target: "finished" }),
      digestFor(api, { zoneId: zone("migrateManyRules"), target: "finished" }).catch(() => "blocked"),
      digestFor(api, { zoneId: zone("migratePro"), target: "finished" }),
    ]);
    expect(new Set(digests).size).toBe(4);
    // The same content has the same digest, whoever asks and when.
    expect(await digestFor(api, { zoneId: zone("migratePro"), target: "finished" })).toBe(digests[3]);
  });

  const configuration = [
    { action: "execute", expression: "true", actionParameters: { id: OWASP } },
    { action: "execute", expression: "true", actionParameters: { id: CLOUDFLARE } },
  ];
  const actions: readonly (readonly [string, (id: string) => WafAction])[] = [
    ["the previous sensitivity", () => ({ do: "package", sensitivity: "low" })],
    ["the previous action", () => ({ do: "package", action_mode: "block" })],
    ["an OWASP rule that isn't carried over", () => ({ do: "rule", id: "960001", mode: "off" })],
    ["a rule of Cloudflare's package", () => ({ do: "rule", id: "100000", mode: "simulate" })],
    [
      "a firewall rule",
      () => ({ do: "firewallRules", rules: [{ expression: "ip.src eq 192.0.2.9", products: ["waf"] }] }),
    ],
    [
      "a page rule",
      () => ({ do: "pageRules", rules: [{ url: "a.example/*", actions: [{ id: "waf", value: "off" }] }] }),
    ],
    ["the setting", () => ({ do: "setting", value: "off" })],
    [
      "a URI-based override",
      () => ({ do: "addOverride", override: { urls: ["a.example/*"], rules: { "100000": "disable" } } }),
    ],
  ];
  test.each(actions.flatMap(([what, action]) => [false, true].map((own) => [what, own, action] as const)))(
    "fails if %s changed between review and update (own configuration: %s)",
    async (_what, own, action) => {
      const inputs = {
        zoneId: zone("migrateBusiness"),
        target: "finished",
        ...(own ? { configuration } : {}),
      };
      const op = b.operation();
      const plan = await op.preview(TYPE, await withConfirmation(api, inputs));
      api.inDashboard(inputs.zoneId, action(inputs.zoneId));
      await expect(createChecked(op, plan.inputs)).rejects.toThrow(/the migration won't proceed/);
      expect(puts(api)).toEqual([]);
    },
  );

  test("fails after someone adds a rule to the entry point, and works again once the rule is gone", async () => {
    const zoneId = zone("migrateDeployed");
    const op = b.operation();
    const plan = await op.preview(TYPE, await withConfirmation(api, { zoneId, target: "finished" }));
    const before = await rulesOf(api, zoneId);
    const added = { action: "skip", expression: "ssl", action_parameters: { ruleset: "current" } };
    await rawSend(api, "PUT", entryPoint(zoneId), { rules: [...before, added] });
    await expect(createChecked(op, plan.inputs)).rejects.toThrow(/confirm doesn't match/);
    expect(effectiveSteps(api, zoneId)).toEqual([]);
    await rawSend(api, "PUT", entryPoint(zoneId), { rules: before });
    expect((await createChecked(op, plan.inputs)).outputs).toMatchObject({ migrationState: "finished" });
    expect(effectiveSteps(api, zoneId)).toEqual(["start > pending"]);
  });

  test("isn't necessary once the zone has reached its target", async () => {
    const inputs = { zoneId: zone("migratePro"), target: "finished" };
    const recorded = await migrated(api, inputs);
    api.clearRequests();
    // Unchanged: no request.
    expect(await b.step(recorded.inputs, recorded)).toBe("same");
    expect(api.requests).toEqual([]);
    // Removed or replaced: only recorded.
    for (const confirm of [undefined, "f".repeat(64)]) {
      const changed = await b.up({ ...inputs, confirm }, recorded);
      expect(changed.outputs["confirm"]).toBe(confirm);
    }
    // A new stack needs none.
    await b.up(inputs);
    expect(puts(api)).toEqual([]);
  });
});

describe("migrating a zone", () => {
  test("goes from start to validation to finished with the documented requests", async () => {
    const zoneId = zone("migrateEnterprise");
    const steps = (): string[] =>
      api.requests
        .filter(({ method, path }) => method === "PUT" || /waf_migration\/(check|config)$/.test(path))
        .map(
          ({ method, path, query }) => `${method} ${path.split("/").at(-1) ?? ""} ${JSON.stringify(query)}`,
        );
    const validation = await withConfirmation(api, { zoneId, target: "validation" });
    const blind = OFFLINE; // The verbs that write, alone.
    api.clearRequests();
    const recorded = await b.operation(blind).up(TYPE, validation);
    expect(steps()).toEqual([
      'GET check {"phase_two":"1"}',
      'GET config {"phase_two":"1"}',
      'PUT entrypoint {"waf_migration":"validation","phase_two":"1"}',
    ]);
    const finished = await withConfirmation(api, { zoneId, target: "finished" }, recorded);
    api.clearRequests();
    await b.operation(blind).up(TYPE, finished, recorded);
    expect(steps()).toEqual([
      'GET check {"phase_two":"1"}',
      'GET config {"phase_two":"1"}',
      'PUT entrypoint {"waf_migration":"pending","phase_two":"1"}',
    ]);
    expect(effectiveSteps(api, zoneId)).toEqual(["start > validation", "validation > pending"]);
  });

  test("goes straight from start to finished, with exactly the proposed rules", async () => {
    const zoneId = zone("migratePro");
    const op = b.operation();
    const recorded = await op.up(
      TYPE,
      await withConfirmation(api, { zoneId, plan: "pro", target: "finished" }),
    );
    expect(recorded.outputs).toMatchObject({
      migrationState: "finished",
      previousRulesEnabled: false,
      newRulesEnabled: true,
      history: [
        { step: "finished", event: "sent", at: IS_TEXT },
        { step: "finished", event: "reached", at: IS_TEXT },
      ],
    });
    expect(op.said.join("\n")).toMatch(
      /sent 2 rules with waf_migration=pending.*\n.*reached finished\. This can't be undone/,
    );
    const body = api.requests.find(({ method }) => method === "PUT")?.body;
    expect(body).toEqual({
      name: "default",
      rules: [
        {
          action: "execute",
          expression: "true",
          enabled: true,
          action_parameters: {
            id: CLOUDFLARE,
            overrides: {
              categories: [{ category: "wordpress", enabled: false }],
              rules: [{ id: IS_TEXT, action: "log", enabled: true }],
            },
          },
        },
        {
          action: "execute",
          expression: "true",
          enabled: true,
          action_parameters: {
            id: OWASP,
            overrides: {
              categories: [
                { category: "paranoia-level-3", enabled: false },
                { category: "paranoia-level-4", enabled: false },
              ],
              rules: [{ id: SCORE_RULE, action: "challenge", score_threshold: 40 }],
            },
          },
        },
      ],
    });
    expect(puts(api)).toEqual([PUT.pending]);
    // Again, and after a refresh: nothing to do, and nothing is written.
    api.clearRequests();
    expect(await b.step(recorded.inputs, recorded)).toBe("same");
    expect(api.requests).toEqual([]);
    expect(await b.refresh(recorded)).toEqual({
      ...recorded,
      inputs: refreshedInputs(recorded),
    });
    await b.update(recorded.inputs, recorded);
    expect(puts(api)).toEqual([]);
  });

  test("puts the zone's own rules first, and keeps the ID, ref and place of rules that are also proposed", async () => {
    const zoneId = zone("migrateDeployed");
    const before = await rulesOf(api, zoneId);
    const [refusal] = await b.refusals({ zoneId, target: "finished" });
    expect(refusal).toMatch(/1\. skip .* \[exists\]\n.*2\. execute Cloudflare Managed Ruleset \[exists/);
    await migrated(api, { zoneId, target: "finished" });
    const after = await rulesOf(api, zoneId);
    expect(after.map(({ id, ref }) => ({ id, ref })).slice(0, 2)).toEqual(
      before.map(({ id, ref }) => ({ id, ref })),
    );
    expect(after[0]).toEqual(before[0]);
    expect(after[1]).toMatchObject({ description: "Set up before the migration", enabled: true });
    expect(after[2]).toMatchObject({ action: "execute", action_parameters: { id: OWASP } });
    expect(after).toHaveLength(3);
    expect(puts(api)).toEqual([PUT.pending]);
  });

  test("finishes with the rules that were adjusted during validation, and sends no rule twice", async () => {
    const zoneId = zone("migrateEnterprise");
    const validating = await migrated(api, { zoneId, plan: "enterprise", target: "validation" });
    expect(validating.outputs).toMatchObject({
      migrationState: "validation",
      previousRulesEnabled: true,
      newRulesEnabled: true,
    });
    expect(await b.step(validating.inputs, validating)).toBe("same");

    const rules = await rulesOf(api, zoneId);
    const owasp = rules.find(({ action_parameters }) => action_parameters["id"] === OWASP);
    const adjusted = { id: OWASP, overrides: { rules: [{ id: SCORE_RULE, score_threshold: 60 }] } };
    api.inDashboard(zoneId, { do: "adjust", rule: owasp?.id ?? "", change: { action_parameters: adjusted } });
    const now = await rulesOf(api, zoneId);

    const inputs = { zoneId, plan: "enterprise", target: "finished" };
    const [refusal] = await b.refusals(inputs, validating);
    expect(refusal).toContain("paranoia level 4 (no level turned off), score threshold 60 (low) [exists]");
    const op = b.operation();
    await op.check(TYPE, { zoneId, target: "assessed" });
    expect(op.said[0]).toMatch(
      /proposed by Cloudflare, but not sent: execute Cloudflare OWASP .*score threshold 40/,
    );
    const finished = await migrated(api, inputs, validating);
    expect(await rulesOf(api, zoneId)).toEqual(now);
    expect(finished.outputs["history"]).toMatchObject([
      { step: "validation", event: "sent" },
      { step: "validation", event: "reached" },
      { step: "finished", event: "sent" },
      { step: "finished", event: "reached" },
    ]);
    expect(puts(api)).toEqual([PUT.validation, PUT.pending]);
  });

  test("finishes after validation with a configuration that replaces the entry point", async () => {
    const zoneId = zone("migrateValidating");
    const before = await rulesOf(api, zoneId);
    const configuration = [
      {
        action: "skip",
        expression: 'starts_with(http.request.uri.path, "/webhooks/")',
        actionParameters: { ruleset: "current" },
      },
      {
        action: "execute",
        expression: "true",
        actionParameters: { id: OWASP, overrides: { rules: [{ id: SCORE_RULE, scoreThreshold: 25 }] } },
      },
      { action: "execute", expression: "true", actionParameters: { id: CLOUDFLARE } },
    ];
    const inputs = { zoneId, target: "finished", configuration };
    const [refusal] = await b.refusals(inputs);
    expect(refusal).toContain("the configuration argument removes 2 rules from the entry point");
    await migrated(api, inputs);
    const after = await rulesOf(api, zoneId);
    const idOf = (rules: typeof after, ruleset: string): string | undefined =>
      rules.find(({ action_parameters }) => action_parameters["id"] === ruleset)?.id;
    expect(after).toHaveLength(3);
    expect(after[1]).toMatchObject({
      id: idOf(before, OWASP),
      action_parameters: { overrides: { rules: [{ id: SCORE_RULE, score_threshold: 25 }] } },
    });
    expect(after[2]?.id).toBe(idOf(before, CLOUDFLARE));
    expect(puts(api)).toEqual([PUT.pending]);
  });

  test("sends the rules in configuration instead of the proposed ones", async () => {
    const zoneId = zone("migratePro");
    const configuration = [{ action: "execute", expression: "true", actionParameters: { id: CLOUDFLARE } }];
    const inputs = { zoneId, target: "finished", configuration };
    const assessed = await b.up({ ...inputs, target: "assessed" });
    const recorded = await migrated(api, inputs, assessed);
    expect((await rulesOf(api, zoneId)).map(({ action_parameters }) => action_parameters["id"])).toEqual([
      CLOUDFLARE,
    ]);
    expect(recorded.outputs["proposedConfiguration"]).toHaveLength(2);
    expect(recorded.outputs["configurationDigest"]).toBe(recorded.inputs["confirm"]);
  });

  test("sends the same rules if proposedConfiguration is passed as configuration", async () => {
    const zoneId = zone("migrateEnterprise");
    const assessed = await b.up({ zoneId, target: "assessed" });
    const configuration = assessed.outputs["proposedConfiguration"];
    await migrated(api, { zoneId, target: "finished", configuration }, assessed);
    const own = await rulesOf(api, zoneId);
    api.reset();
    await migrated(api, { zoneId, target: "finished" });
    const content = (rules: typeof own) =>
      rules.map(({ action, expression, action_parameters, enabled, description }) => ({
        action,
        expression,
        action_parameters,
        enabled,
        description,
      }));
    expect(content(own)).toEqual(content(await rulesOf(api, zoneId)));
  });

  test("accepts a confirmation as soon as nothing blocks the zone", async () => {
    const inputs = { zoneId: zone("migrateOverrides"), target: "finished" };
    expect(await b.refusals(inputs)).toHaveLength(1);
    for (const { id } of api.waf(inputs.zoneId).overrides)
      api.inDashboard(inputs.zoneId, { do: "deleteOverride", id });
    expect((await migrated(api, inputs)).outputs).toMatchObject({ migrationState: "finished" });
  });
});
