import { managedRulesets, OWASP_SCORE_RULE, seededRules } from "edgeguard-local";
import { omit } from "../../provider/basics/json";
import { refreshedInputs } from "../support/operation";
import { RulesetsBench, OWASP, REF, TYPE, MANAGED } from "./support";

const bench = new RulesetsBench();
let othersBefore: string;
beforeEach(async () => {
  othersBefore = await bench.othersRules();
  bench.api.clearRequests();
});
afterEach(async () => {
  expect(await bench.othersRules()).toBe(othersBefore); // No test may change anyone else's rules.
});

const HOOK = { expression: 'http.request.uri.path eq "/hook"', skip: "all" };
const FEED = { expression: 'http.request.uri.path eq "/feed"', description: "partners", skip: "all" };

const ruleIds = async (ruleset: string): Promise<string[]> =>
  (await bench.managedRules(ruleset)).map(({ id }) => id);

describe("a deployment in a zone with other rules", () => {
  test("is added last with one request, changed in place and removed without a trace", async () => {
    const declared = bench.declare({ owasp: { paranoiaLevel: 1 } });
    const recorded = await bench.up(declared);
    expect(bench.writes()).toEqual(["POST /{id}/rules"]);
    expect(await bench.refs()).toEqual(["monitoring", "managed", "credentials", "own"]);
    expect(recorded.outputs).toMatchObject({
      ruleId: recorded.id,
      ruleRef: REF,
      rulesetId: managedRulesets.owasp,
      rulesetVersion: "37",
    });
    await bench.expectNoChanges(declared, recorded);

    bench.api.clearRequests();
    const tightened = { ...declared, owasp: { paranoiaLevel: 4, scoreThreshold: "high" } };
    const changed = await bench.up(tightened, recorded);
    expect(changed.id).toBe(recorded.id);
    expect(bench.writes()).toEqual(["PATCH /{id}/rules/{id}"]);
    await bench.expectNoChanges(tightened, changed);

    bench.api.clearRequests();
    const op = bench.operation();
    await op.destroy(TYPE, changed);
    expect(bench.writes()).toEqual(["DELETE /{id}/rules/{id}"]);
    expect(op.warned).toEqual([]);
    expect(await bench.refs()).toEqual(["monitoring", "managed", "credentials"]);
    await bench.destroy(changed); // Deleting it again is fine.
    expect(await bench.isGone(changed)).toBe(true);
  });

  test("never replaces the zone's entry point", async () => {
    const first = await bench.up(bench.declare({ position: "first", exceptions: [HOOK] }));
    const second = await bench.up(bench.declare({ position: "last", exceptions: [FEED, HOOK] }), first);
    await bench.destroy(second);
    expect(bench.api.requests.filter(({ method }) => method === "PUT")).toEqual([]);
  });

  test("finds a rule by its ref when its ID changed", async () => {
    const recorded = await bench.up(bench.declare());
    const rule = await bench.ownRule();
    await bench.deleteRule(rule);
    const { action, action_parameters, expression, ref } = rule;
    const again = await bench.addRule({ action, action_parameters, expression, ref });
    const refreshed = await bench.refresh(recorded);
    expect(refreshed.outputs).toMatchObject({ ruleId: again.id });
    expect(refreshed.inputs).toEqual(refreshedInputs(recorded));
    await bench.destroy(recorded);
    expect(await bench.refs()).not.toContain("own");
  });
});

describe("the request for a deployment", () => {
  test("has the documented form for paranoia level 2, threshold 25, managed_challenge and one disabled rule", async () => {
    const [someRule = ""] = await ruleIds(managedRulesets.owasp);
    bench.api.clearRequests();
    const declared = bench.declare({
      description: "shop",
      position: "first",
      owasp: { paranoiaLevel: 2, scoreThreshold: "high", action: "managed_challenge" },
      rules: { [someRule]: { enabled: false } },
    });
    const literal = {
      action: "execute",
      action_parameters: {
        id: "4814384a9e5d4991b9815dcfc25d2f1f",
        overrides: {
          categories: [
            { category: "paranoia-level-3", enabled: false },
            { category: "paranoia-level-4", enabled: false },
          ],
          rules: [
            { id: "6179ae15870a4bb7b2d480d4843b323c", action: "managed_challenge", score_threshold: 25 },
            { id: someRule, enabled: false },
          ].sort((a, b) => (a.id < b.id ? -1 : 1)),
        },
      },
      expression: "true",
      enabled: true,
    };
    const recorded = await bench.up(declared);
    expect(bench.bodies("POST")).toEqual([
      { ...literal, description: "shop", ref: REF, position: { before: "" } },
    ]);

    // A change sends the full definition, including what Cloudflare filled in.
    await bench.up({ ...declared, enabled: false }, recorded);
    const filledIn = { ...literal.action_parameters, version: "latest" };
    expect(bench.bodies("PATCH")).toEqual([
      { ...literal, enabled: false, action_parameters: filledIn, description: "shop", ref: REF },
    ]);
  });

  test.each([
    [1, ["paranoia-level-2", "paranoia-level-3", "paranoia-level-4"]],
    [2, ["paranoia-level-3", "paranoia-level-4"]],
    [3, ["paranoia-level-4"]],
  ])("turns off only the tags above paranoia level %i", async (level, tags) => {
    await bench.up(bench.declare({ owasp: { paranoiaLevel: level } }));
    const categories = tags.map((category) => ({ category, enabled: false }));
    expect(bench.bodies("POST")[0]?.["action_parameters"]).toEqual({
      id: managedRulesets.owasp,
      overrides: { categories },
    });
    const { rules } = await bench.effectiveDeployment();
    const off = rules.filter(({ enabled }) => !enabled);
    expect(off.every(({ categories: own }) => own.some((tag) => tags.includes(tag)))).toBe(true);
    expect(off).toHaveLength(rules.filter((r) => r.categories.some((tag) => tags.includes(tag))).length);
  });

  test("has no override for paranoia level 4", async () => {
    await bench.up(bench.declare({ owasp: { paranoiaLevel: 4 } }));
    expect(bench.bodies("POST")[0]?.["action_parameters"]).toEqual({ id: managedRulesets.owasp });
  });

  test("keeps the rule's other fields: payload logging, a log setting and a description", async () => {
    const declared = bench.declare({ owasp: { paranoiaLevel: 3 } });
    const recorded = await bench.up(declared);
    const rule = await bench.ownRule();
    const parameters = rule["action_parameters"] as object;
    const kept = { matched_data: { public_key: "key" } };
    await bench.editRule(rule, {
      action_parameters: { ...parameters, ...kept },
      logging: { enabled: true },
      description: "manually",
    });
    const refreshed = await bench.refresh(recorded);
    expect(await bench.step(declared, refreshed)).toBe("same");
    await bench.up({ ...declared, enabled: false }, recorded);
    expect(await bench.ownRule()).toMatchObject({
      enabled: false,
      description: "manually",
      logging: { enabled: true },
      action_parameters: kept,
    });
  });

  test("logs payloads with a declared key, which drifts, is restored, and goes once it isn't declared", async () => {
    const [key, other] = ["A", "B"].map((letter) => `${letter.repeat(43)}=`);
    const plain = bench.declare({ owasp: { paranoiaLevel: 3 } });
    const declared = { ...plain, matchedData: { publicKey: key } };
    const recorded = await bench.up(declared);
    expect(bench.bodies("POST").at(-1)).toMatchObject({
      action_parameters: { matched_data: { public_key: key } },
    });
    await bench.expectNoChanges(declared, recorded);
    const rule = await bench.ownRule();
    const parameters = rule["action_parameters"] as object;
    await bench.editRule(rule, { action_parameters: { ...parameters, matched_data: { public_key: other } } });
    const drifted = await bench.refresh(recorded);
    expect(drifted.inputs["matchedData"]).toEqual({ publicKey: other });
    const repaired = await bench.up(declared, drifted);
    expect(await bench.ownRule()).toMatchObject({ action_parameters: { matched_data: { public_key: key } } });
    await bench.up(plain, repaired);
    expect((await bench.ownRule())["action_parameters"]).not.toHaveProperty("matched_data");
    expect(await bench.refusals({ ...declared, matchedData: { publicKey: "key" } })).toEqual([
      'matchedData.publicKey: must be a public key of 44 characters of base64, not "key"',
    ]);
  });

  test("turns all rules on or off with allRulesEnabled, and leaves them to their defaults without it", async () => {
    const declared = bench.declare({ allRulesEnabled: false });
    const recorded = await bench.up(declared);
    expect(bench.bodies("POST").at(-1)).toMatchObject({
      action_parameters: { overrides: { enabled: false } },
    });
    expect(recorded.inputs["expansion"]).toMatchObject({ rules: { on: 0 } });
    await bench.expectNoChanges(declared, recorded);
    await bench.up(bench.declare({}), recorded);
    expect((await bench.ownRule())["action_parameters"]).not.toHaveProperty("overrides");
  });

  test("doesn't log an exception with logging: false, which drifts, and logs it again without", async () => {
    const exception = { expression: 'http.host eq "a.example"', skip: "this" };
    const declared = bench.declare({ exceptions: [{ ...exception, logging: false }] });
    const skipRule = (): ReturnType<typeof bench.ownRule> =>
      bench.ownRule(`${String(declared.ref)}/exception/1`);
    const logging = async (): Promise<unknown> => (await skipRule())["logging"];
    const recorded = await bench.up(declared);
    expect(await logging()).toEqual({ enabled: false });
    await bench.expectNoChanges(declared, recorded);
    await bench.editRule(await skipRule(), { logging: { enabled: true } });
    const drifted = await bench.refresh(recorded);
    expect(drifted.inputs["exceptions"]).toEqual([exception]);
    const repaired = await bench.up(declared, drifted);
    expect(await logging()).toEqual({ enabled: false });
    const logged = bench.declare({ exceptions: [{ ...exception, logging: true }] });
    expect(
      await bench.step(bench.declare({ exceptions: [exception] }), await bench.up(logged, repaired)),
    ).toBe("same");
    expect(await logging()).toEqual({ enabled: true });
  });

  test("sets the threshold on the last rule of the ruleset's latest version", async () => {
    const last = "f".repeat(32);
    const description = "949111: Inbound Anomaly Score Exceeded";
    await bench.publishVersion(managedRulesets.owasp, {
      remove: [OWASP_SCORE_RULE],
      add: [{ id: last, description, score_threshold: 40, action: "block" }],
    });
    await bench.up(bench.declare({ owasp: { paranoiaLevel: 4, scoreThreshold: 60 } }));
    expect((await ruleIds(managedRulesets.owasp)).at(-1)).toBe(last);
    expect(overridesOf(bench.bodies("POST")[0]).rules).toEqual([{ id: last, score_threshold: 60 }]);
  });
});

describe("an update", () => {
  const start = {
    expression: 'http.host eq "a.example"',
    description: "one",
    categories: [{ tag: "php", enabled: true }],
  };

  test.each([
    ["expression", { expression: 'http.host eq "b.example"' }, { expression: 'http.host eq "b.example"' }],
    ["description", { description: "two" }, { description: "two" }],
    ["description, removed", { description: undefined }, { description: "" }],
    ["enabled", { enabled: false }, { enabled: false }],
    ["version", { version: "87" }, { action_parameters: { version: "87" } }],
    ["action", { action: "log" }, { action_parameters: { overrides: { action: "log" } } }],
    [
      "categories",
      { categories: [{ tag: "php", action: "log" }] },
      { action_parameters: { overrides: { categories: [{ category: "php", action: "log" }] } } },
    ],
    ["categories, removed", { categories: undefined }, {}],
    [
      "ruleset",
      { ruleset: { name: "Cloudflare Managed Free Ruleset" } },
      { action_parameters: { id: managedRulesets.free } },
    ],
    ["ref", { ref: "edgeguard/site/dev/other" }, {}],
    ["position", { position: "first" }, {}],
  ])("changes %s in place with one request", async (_name, change, wanted) => {
    const before = bench.declareManaged(start);
    const recorded = await bench.up(before);
    const declared = bench.declareManaged({ ...start, ...change });
    bench.api.clearRequests();
    expect(await bench.step(declared, recorded)).toBe("update");
    const changed = await bench.up(declared, recorded);
    expect(changed.id).toBe(recorded.id);
    expect(bench.writes()).toEqual(["PATCH /{id}/rules/{id}"]);
    expect(await bench.ownRule(String(declared["ref"]))).toMatchObject({ id: recorded.id, ...wanted });
    const versions =
      "version" in change ? [expect.stringContaining("pinned to 87 (the latest is 88)")] : undefined;
    await bench.expectNoChanges(declared, changed, versions);
  });

  test('writes nothing if only the notation changes: by name or by ID, with or without "latest"', async () => {
    const recorded = await bench.up(bench.declareManaged({ ruleset: { name: MANAGED } }));
    bench.api.clearRequests();
    const changed = await bench.up(bench.declareManaged({ version: "latest" }), recorded);
    expect(bench.writes()).toEqual([]);
    await bench.expectNoChanges(bench.declareManaged({ version: "latest" }), changed);
  });

  test("writes nothing if a threshold's name is replaced with its number", async () => {
    const recorded = await bench.up(bench.declare({ owasp: { paranoiaLevel: 1, scoreThreshold: "low" } }));
    const same = bench.declare({ owasp: { paranoiaLevel: 1, scoreThreshold: 60 } });
    expect(await bench.step(same, recorded)).toBe("same");
  });

  test("records changes to adopt and onDestroy without a write", async () => {
    const recorded = await bench.up(bench.declare());
    bench.api.clearRequests();
    await bench.up(bench.declare({ adopt: "never", onDestroy: "keep" }), recorded);
    expect(bench.writes()).toEqual([]);
  });

  test("writes nothing if nothing changes", async () => {
    const declared = bench.declare({ owasp: { paranoiaLevel: 2 }, exceptions: [HOOK], position: "first" });
    const recorded = await bench.up(declared);
    bench.api.clearRequests();
    await bench.update(recorded.inputs, recorded);
    expect(bench.writes()).toEqual([]);
  });

  test("keeps the same rule while the paranoia level goes up and down", async () => {
    let recorded = await bench.up(bench.declare({ owasp: { paranoiaLevel: 1 } }));
    const on = [(await bench.effectiveDeployment()).on];
    for (const paranoiaLevel of [2, 3, 4, 1]) {
      const declared = bench.declare({ owasp: { paranoiaLevel } });
      recorded = await bench.up(declared, recorded);
      await bench.expectNoChanges(declared, recorded);
      on.push((await bench.effectiveDeployment()).on);
    }
    expect(on).toEqual([...on.slice(0, 4).sort((a, b) => a - b), on[0]]);
    expect(new Set(on).size).toBe(4);
  });
});

describe("the order of overrides", () => {
  test("doesn't matter for a hundred rule overrides", async () => {
    const ids = (await ruleIds(managedRulesets.managed)).slice(0, 100);
    const some = (order: readonly string[]) =>
      Object.fromEntries(order.map((id) => [id, { enabled: Number.parseInt(id.slice(0, 2), 16) % 2 === 0 }]));
    const declared = bench.declareManaged({ rules: some(ids) });
    const recorded = await bench.up(declared);
    const sentIds = overridesOf(bench.bodies("POST")[0]).rules.map(({ id }) => id);
    expect(sentIds).toEqual([...ids].sort());
    const shuffled = ids.map((id, index) => ids[(index * 37) % 100] ?? id);
    await bench.expectNoChanges(bench.declareManaged({ rules: some(shuffled) }), recorded);

    // Cloudflare may return them in any order.
    const rule = await bench.ownRule();
    const parameters = rule["action_parameters"] as Record<string, unknown>;
    const reversed = [...overridesOf(rule).rules].reverse();
    await bench.editRule(rule, { action_parameters: { ...parameters, overrides: { rules: reversed } } });
    expect((await bench.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
  });

  test("matters for two tags that share rules: the later one decides", async () => {
    const off = { tag: "sqli", enabled: false };
    const on = { tag: "java", enabled: true };
    const both = (await bench.managedRules(managedRulesets.managed)).filter(
      ({ categories }) => categories.includes("sqli") && categories.includes("java"),
    );
    expect(both.length).toBeGreaterThan(1);
    const first = bench.declareManaged({ categories: [off, on] });
    const swapped = bench.declareManaged({ categories: [on, off] });

    const recorded = await bench.up(first);
    const plan = await bench.preview(swapped, recorded);
    expect(plan).toMatchObject({
      step: "update",
      inputs: {
        expansion: {
          conflicts: [
            `${both.length} rules tagged both "java" and "sqli": "sqli" decides whether they're on`,
          ],
        },
      },
    });
    const state = async (): Promise<boolean[]> =>
      (await bench.effectiveDeployment()).rules
        .filter(({ id }) => both.some((r) => r.id === id))
        .map((r) => r.enabled);
    expect(new Set(await state())).toEqual(new Set([true]));
    const changed = await bench.up(swapped, recorded);
    expect(new Set(await state())).toEqual(new Set([false]));
    await bench.expectNoChanges(swapped, changed);
  });

  test("doesn't matter for two tags that share no rule, and a preview of a new order sends no requests", async () => {
    const one = { tag: "wordpress", enabled: false };
    const other = { tag: "java", action: "log" };
    const recorded = await bench.up(bench.declareManaged({ categories: [one, other] }));
    const swapped = bench.declareManaged({ categories: [other, one] });
    bench.api.clearRequests();
    const op = bench.operation();
    const same = await op.up(TYPE, swapped, recorded);
    expect(bench.writes()).toEqual([]);
    bench.api.clearRequests();
    expect(await bench.step(swapped, same)).toBe("same");
    expect(bench.api.requests).toEqual([]);
  });

  test("starts with the declared categories, followed by the levels that owasp turns off", async () => {
    const categories = [
      { tag: "sqli", enabled: true },
      { tag: "evasion", enabled: false },
    ];
    const declared = bench.declare({ categories, owasp: { paranoiaLevel: 3 } });
    const recorded = await bench.up(declared);
    expect(overridesOf(bench.bodies("POST")[0]).categories.map(({ category }) => category)).toEqual([
      "sqli",
      "evasion",
      "paranoia-level-4",
    ]);
    await bench.expectNoChanges(declared, recorded);
  });

  test("contains a category only once if owasp already turns it off", async () => {
    const categories = [
      { tag: "paranoia-level-4", enabled: false },
      { tag: "sqli", enabled: true },
    ];
    const declared = bench.declare({ categories, owasp: { paranoiaLevel: 3 } });
    const recorded = await bench.up(declared);
    expect(overridesOf(bench.bodies("POST")[0]).categories.map(({ category }) => category)).toEqual([
      "sqli",
      "paranoia-level-4",
    ]);
    await bench.expectNoChanges(declared, recorded);
  });
});

describe("a deployment with unset or false arguments", () => {
  test("doesn't send unset arguments, so the ruleset's own settings apply", async () => {
    const [rule = "", ...others] = await ruleIds(managedRulesets.managed);
    await bench.up(
      bench.declareManaged({
        categories: [{ tag: "php", action: "log" }],
        rules: { [rule]: { action: "log" } },
      }),
    );
    expect(overridesOf(bench.bodies("POST")[0])).toEqual({
      categories: [{ category: "php", action: "log" }],
      rules: [{ id: rule, action: "log" }],
    });
    const { rules } = await bench.effectiveDeployment();
    expect(rules.every(({ decided }) => decided.enabled === "default")).toBe(true);
    expect(rules).toHaveLength(others.length + 1);
  });

  test("sends enabled: false for the deployment, its categories and its rules", async () => {
    const [rule = ""] = await ruleIds(managedRulesets.managed);
    await bench.up(
      bench.declareManaged({
        enabled: false,
        categories: [{ tag: "php", enabled: false }],
        rules: { [rule]: { enabled: false } },
      }),
    );
    expect(bench.bodies("POST")[0]).toMatchObject({
      enabled: false,
      action_parameters: {
        overrides: {
          categories: [{ category: "php", enabled: false }],
          rules: [{ id: rule, enabled: false }],
        },
      },
    });
  });

  test("treats empty lists and records as unset", async () => {
    const recorded = await bench.up(bench.declare({ categories: [], rules: {}, exceptions: [] }));
    expect(bench.bodies("POST")[0]?.["action_parameters"]).toEqual({ id: managedRulesets.owasp });
    await bench.expectNoChanges(bench.declare(), recorded);
  });
});

describe("the position argument", () => {
  test.each([
    ["first", ["own", "monitoring", "managed", "credentials"]],
    ["last", ["monitoring", "managed", "credentials", "own"]],
    [{ before: "security-team/managed" }, ["monitoring", "own", "managed", "credentials"]],
    [{ after: seededRules.shop.monitoring }, ["monitoring", "own", "managed", "credentials"]],
  ])(
    "places the rule at %j when the rule is created and when the argument changes",
    async (position, order) => {
      const declared = bench.declare({ position, exceptions: [HOOK, FEED] });
      const withOwn = order.flatMap((name) =>
        name === "own" ? ["exception/1", "exception/2", "own"] : [name],
      );
      const made = await bench.up(declared);
      expect(await bench.refs()).toEqual(withOwn);
      await bench.expectNoChanges(declared, made);
      await bench.destroy(made);

      for (const from of ["first", "last"]) {
        const before = await bench.up(bench.declare({ position: from, exceptions: [HOOK, FEED] }));
        const moved = await bench.up(declared, before);
        expect(await bench.refs()).toEqual(withOwn);
        await bench.destroy(moved);
      }
    },
  );

  test("keeps the exceptions in front of the rule throughout a move", async () => {
    let recorded = await bench.up(bench.declare({ position: "last", exceptions: [HOOK, FEED] }));
    for (const position of ["first", "last"]) {
      bench.api.clearRequests();
      recorded = await bench.up(bench.declare({ position, exceptions: [HOOK, FEED] }), recorded);
      expect(bench.writes()).toHaveLength(3);
      const ids = bench.api.requests
        .filter(({ method }) => method === "PATCH")
        .map(({ path }) => path.slice(-32));
      // Forward, the exceptions move first; backward, the rule does.
      expect(ids.indexOf(recorded.id)).toBe(position === "first" ? 2 : 0);
    }
  });

  test("places the rule before another rule's exceptions if it has to run before that rule", async () => {
    await bench.up(bench.declareManaged({ ref: `${REF}-2`, exceptions: [HOOK, FEED] }));
    const declared = bench.declare({ position: { before: `${REF}-2` }, exceptions: [HOOK] });
    const recorded = await bench.up(declared);
    const order = [`exception/1`, "own", `own-2/exception/1`, `own-2/exception/2`, `own-2`];
    expect((await bench.refs()).slice(3)).toEqual(order);
    await bench.expectNoChanges(declared, recorded);
    const moved = await bench.up(bench.declare({ position: "last", exceptions: [HOOK] }), recorded);
    await bench.up(declared, moved);
    expect((await bench.refs()).slice(3)).toEqual(order);
  });

  test('doesn\'t enforce "first" again when someone else puts a rule in front', async () => {
    const declared = bench.declare({ position: "first" });
    const recorded = await bench.up(declared);
    const added = await bench.addRule({
      action: "skip",
      action_parameters: { ruleset: "current" },
      expression: "ip.src eq 192.0.2.1",
      position: { before: "" },
    });
    await bench.expectNoChanges(declared, await bench.refresh(recorded)); // The refresh records the rule.
    await bench.up({ ...declared, description: "x" }, recorded);
    expect((await bench.rules())[0]?.id).toBe(added.id);
    await bench.deleteRule(added);
  });

  test("fails if it names a rule that doesn't exist, suggests the nearest, and creates nothing", async () => {
    const declared = bench.declare({ position: { before: "security-team/manage" } });
    const op = bench.operation();
    const { message, recorded } = await op.failedUp(TYPE, declared);
    const words =
      'no managed rule with the ref "security-team/manage" (did you mean "security-team/managed"?)';
    expect(message).toContain(words);
    expect(recorded).toBeUndefined();
    expect(op.warned[0]).toContain(words); // Only a warning, because the update may create that rule first.
    expect(bench.writes()).toEqual([]);
  });

  test("doesn't suggest the rule itself, which goes nowhere before itself", async () => {
    const recorded = await bench.up(bench.declare());
    const op = bench.operation();
    await op.preview(TYPE, bench.declare({ position: { before: `${REF}x` } }), recorded);
    expect(op.warned[0]).toContain(`no managed rule with the ref "${REF}x". The update will fail`);
  });
});

describe("exceptions", () => {
  const list = async (): Promise<unknown[]> =>
    (await bench.rules())
      .filter(({ ref }) => ref.startsWith(`${REF}/exception/`))
      .map(({ expression, action_parameters }) => [expression, action_parameters]);

  test("become skip rules directly in front of the rule, in order, each with its own ref", async () => {
    const declared = bench.declare({
      exceptions: [
        HOOK,
        { ...FEED, skip: { rulesets: [managedRulesets.owasp] } },
        { ...FEED, skip: { rules: { [managedRulesets.owasp]: [OWASP_SCORE_RULE] } } },
      ],
    });
    const recorded = await bench.up(declared);
    expect((await bench.refs()).slice(3)).toEqual(["exception/1", "exception/2", "exception/3", "own"]);
    expect(await list()).toEqual([
      [HOOK.expression, { ruleset: "current" }],
      [FEED.expression, { rulesets: [managedRulesets.owasp] }],
      [FEED.expression, { rules: { [managedRulesets.owasp]: [OWASP_SCORE_RULE] } }],
    ]);
    await bench.expectNoChanges(declared, recorded);
    await bench.destroy(recorded);
    expect(await bench.refs()).toEqual(["monitoring", "managed", "credentials"]);
  });

  test('can skip rulesets by name or as "this", and a refresh keeps the form used in the program', async () => {
    const [owasp, managed] = [managedRulesets.owasp, managedRulesets.managed];
    const declared = bench.declare({
      ruleset: OWASP,
      exceptions: [
        { ...HOOK, skip: "this" },
        { ...FEED, skip: { rulesets: ["this", { name: MANAGED }, managedRulesets.free] } },
        { ...FEED, skip: { rules: { this: [OWASP_SCORE_RULE], [MANAGED]: [await managedRule()] } } },
      ],
    });
    const recorded = await bench.up(declared);
    expect(recorded.inputs["ruleset"]).toEqual({ name: OWASP });
    expect(await list()).toEqual([
      [HOOK.expression, { rulesets: [owasp] }],
      [FEED.expression, { rulesets: [owasp, managed, managedRulesets.free].sort() }],
      [FEED.expression, { rules: { [owasp]: [OWASP_SCORE_RULE], [managed]: [await managedRule()] } }],
    ]);
    await bench.expectNoChanges(declared, recorded);

    // Another form of the same is no change. A change in the dashboard shows in a refresh.
    const byId = { ...declared, exceptions: [{ ...HOOK, skip: { rulesets: [owasp] } }] };
    const shorter = await bench.up({ ...declared, exceptions: [{ ...HOOK, skip: "this" }] }, recorded);
    bench.api.clearRequests();
    const reworded = await bench.up(byId, shorter);
    expect(bench.writes()).toEqual([]);
    await bench.expectNoChanges(byId, reworded);
    await bench.editRule(await bench.ownRule(`${REF}/exception/1`), {
      action_parameters: { ruleset: "current" },
    });
    const refreshed = await bench.refresh(shorter);
    expect(refreshed.outputs["exceptions"]).toEqual([{ ...HOOK, skip: "all" }]);
  });

  const managedRule = async (): Promise<string> =>
    (await bench.managedRules(managedRulesets.managed))[0]?.id ?? "";

  test("are created before the rule of a new deployment is enabled", async () => {
    await bench.up(bench.declare({ exceptions: [HOOK] }));
    expect(bench.writes()).toEqual(["POST /{id}/rules", "POST /{id}/rules", "PATCH /{id}/rules/{id}"]);
    expect(bench.bodies("POST").map(({ action, enabled }) => [action, enabled])).toEqual([
      ["execute", false],
      ["skip", true],
    ]);
    expect(await bench.ownRule()).toMatchObject({ enabled: true });
  });

  const A = { expression: 'http.request.uri.path eq "/a"', skip: "all" };
  const B = { expression: 'http.request.uri.path eq "/b"', skip: "all" };
  const C = { expression: 'http.request.uri.path eq "/c"', skip: "all" };
  test.each([
    ["adds an exception in front", [A, B], [C, A, B], 3],
    ["adds an exception at the end", [A, B], [A, B, C], 1],
    ["removes an exception", [A, B, C], [B, C], 3],
    ["reorders the exceptions", [A, B, C], [C, A, B], 3],
    ["removes all exceptions", [A, B], undefined, 2],
    ["changes a skip", [A], [{ ...A, skip: { rulesets: [managedRulesets.owasp] } }], 1],
    ["adds a description", [A], [{ ...A, description: "x" }], 1],
  ])(
    "stay in effect while an update that %s writes one rule at a time",
    async (_name, before, after, writes) => {
      const recorded = await bench.up(bench.declare({ exceptions: before }));
      const declared = bench.declare(after === undefined ? {} : { exceptions: after });
      bench.api.clearRequests();
      const changed = await bench.up(declared, recorded);
      expect(bench.writes()).toHaveLength(writes);
      expect((await list()).map((each) => (each as string[])[0])).toEqual(
        (after ?? []).map(({ expression }) => expression),
      );
      await bench.expectNoChanges(declared, changed);
    },
  );

  test("get new refs when the resource's ref changes", async () => {
    const recorded = await bench.up(bench.declare({ exceptions: [A, B] }));
    const declared = bench.declare({ exceptions: [A, B], ref: `${REF}-2` });
    const changed = await bench.up(declared, recorded);
    expect((await bench.rules()).slice(3).map(({ ref }) => ref)).toEqual([
      `${REF}-2/exception/1`,
      `${REF}-2/exception/2`,
      `${REF}-2`,
    ]);
    await bench.expectNoChanges(declared, changed);
  });
});

describe("after Cloudflare publishes a version of the ruleset,", () => {
  test("a refresh says that the threshold fell back if a different rule compares the score, and the next update sets it there", async () => {
    const last = "f".repeat(32);
    const declared = bench.declare({ owasp: { paranoiaLevel: 4, scoreThreshold: 60 } });
    const recorded = await bench.up(declared);
    await bench.publishVersion(managedRulesets.owasp, {
      remove: [OWASP_SCORE_RULE],
      add: [{ id: last, description: "949111", score_threshold: 40, action: "block" }],
    });
    const op = bench.operation();
    const refreshed = await op.refresh(TYPE, recorded);
    expect(op.said.join()).toContain("score threshold 60 (low) → 40 (medium)");
    await bench.up(declared, refreshed);
    expect(overridesOf((await bench.ownRule()) as Record<string, unknown>).rules).toEqual([
      { id: last, score_threshold: 60 },
    ]);
  });

  test("a preview checks tags and rules against the pinned version", async () => {
    const latest = Number((await bench.up(bench.declareManaged())).outputs["rulesetVersion"]);
    await bench.publishVersion(managedRulesets.managed, {
      add: [{ description: "new", categories: ["brand-new"] }],
    });
    const refused = (version: number) =>
      bench.refusals(
        bench.declareManaged({
          version: String(version),
          categories: [{ tag: "brand-new", enabled: true }],
          adopt: "takeOver",
        }),
      );
    expect(await refused(latest)).toEqual([
      expect.stringContaining(
        'categories[0].tag: "Cloudflare Managed Ruleset" has no rule with the tag "brand-new"',
      ),
    ]);
    expect(await refused(latest + 1)).toEqual([]);
    expect(await refused(999)).toEqual([
      `version: ruleset "Cloudflare Managed Ruleset" has no version 999; the latest is ${latest + 1}`,
    ]);
  });
});

describe("the preview", () => {
  test("shows the effect of a deployment, and the zone matches it afterwards", async () => {
    const declared = bench.declare({
      ruleset: { name: OWASP },
      owasp: { paranoiaLevel: 2, scoreThreshold: 25, action: "managed_challenge" },
    });
    const { inputs } = await bench.preview(declared);
    const recorded = await bench.up(declared);
    const { on, off } = await bench.effectiveDeployment();
    expect(inputs["expansion"]).toEqual({
      ruleset: { id: managedRulesets.owasp, name: OWASP },
      version: "latest",
      latest: "37",
      paranoiaLevel: 2,
      levelsOff: ["paranoia-level-3", "paranoia-level-4"],
      scoreThreshold: 25,
      action: "managed_challenge",
      rules: { on, off },
      switched: { on: 0, off },
      otherActions: "1 rule block → managed_challenge",
    });
    expect(recorded.outputs["expansion"]).toEqual(inputs["expansion"]);
  });

  test("shows what an update changes, rule by rule", async () => {
    const before = { owasp: { paranoiaLevel: 3, scoreThreshold: 40 }, ruleset: { name: OWASP } };
    const recorded = await bench.up(bench.declare(before));
    const digests = new Set<string>();
    const nothing = { weaker: [], stronger: [], moved: [] };
    const preview = async (changes: object): Promise<unknown> => {
      const { inputs } = await bench.preview(bench.declare({ ...before, ...changes }), recorded);
      const { compared } = inputs["impact"] as { readonly compared: { readonly digest: string } };
      expect(compared.digest).toMatch(/^[0-9a-f]{32}$/);
      digests.add(compared.digest);
      return omit({ ...compared }, ["digest"]);
    };
    expect(await preview({ description: "another" })).toEqual(nothing);
    expect(await preview({ owasp: { paranoiaLevel: 1, scoreThreshold: 60, action: "log" } })).toEqual({
      ...nothing,
      weaker: ["63 rules score → off", "1 rule block → log", "score threshold 40 (medium) → 60 (low)"],
    });
    // The tags of the paranoia levels mean the same as owasp.
    const tags = [{ tag: "paranoia-level-4", enabled: false }];
    expect(await preview({ owasp: undefined, categories: tags })).toEqual(nothing);
    expect(
      await preview({ owasp: undefined, ruleset: { name: "Cloudflare Managed Ruleset" } }),
    ).toMatchObject({
      weaker: [`"${OWASP}" no longer runs (164 rules on); "Cloudflare Managed Ruleset" runs instead`],
    });
    // Changes of the same rules have the same digest, and two previews here change none.
    expect(digests.size).toBe(3);
  });

  test("shows what acts: the rules of a deployment only while it's enabled", async () => {
    const compared = async (before: object, after: object): Promise<unknown> => {
      const recorded = await bench.up(bench.declareManaged({ ...before }));
      const { inputs } = await bench.preview(bench.declareManaged({ ...after }), recorded);
      await bench.destroy(recorded);
      const { weaker, stronger } = (inputs["impact"] as { readonly compared: Record<string, unknown> })
        .compared;
      return { weaker, stronger };
    };
    const log = { action: "log" };
    const off = { enabled: false };
    const acting = ["95 rules block → off", "7 rules managed_challenge → off"];
    expect(await compared({}, { ...log, ...off })).toEqual({ weaker: acting, stronger: [] });
    expect(await compared(off, log)).toEqual({ weaker: [], stronger: ["102 rules off → log"] });
    expect(await compared(off, { ...log, ...off })).toEqual({ weaker: [], stronger: [] });
  });

  test("shows no effects without credentials, and that alone isn't a change", async () => {
    const declared = bench.declare({ owasp: { paranoiaLevel: 2 } });
    const fork = bench.operation({ config: { "edgeguard:apiToken": "" } });
    const { inputs } = await fork.preview(TYPE, declared);
    expect(inputs).not.toHaveProperty("expansion");
    expect(fork.warned).toEqual([expect.stringContaining("live checks skipped")]);
    const recorded = await bench.up(declared);
    const again = bench.operation({ config: { "edgeguard:apiToken": "" } });
    expect(await again.preview(TYPE, declared, recorded)).toMatchObject({ step: "same" });
    expect(again.warned).toEqual([]);
  });
});

interface Sent {
  readonly categories: readonly { readonly category: string }[];
  readonly rules: readonly { readonly id: string }[];
}

function overridesOf(body: Record<string, unknown> | undefined): Sent {
  return (body?.["action_parameters"] as { overrides: Sent }).overrides;
}
