import { managedRulesets, OWASP_SCORE_RULE } from "edgeguard-local";
import { refreshedInputs, type Recorded } from "../support/operation";
import { inputsAfter, RulesetsBench, REF, TYPE, type Rule } from "./support";
import { driftOf } from "../report/plans";

const bench = new RulesetsBench();
let othersBefore: string;
beforeEach(async () => {
  othersBefore = await bench.othersRules();
});
afterEach(async () => {
  expect(await bench.othersRules()).toBe(othersBefore);
});

/** The parameters after a change in the dashboard. */
const withParameters = (rule: Rule, change: Record<string, unknown>): Record<string, unknown> => ({
  action_parameters: { ...(rule["action_parameters"] as object), ...change },
});
const withOverrides = (rule: Rule, change: Record<string, unknown>): Record<string, unknown> => {
  const { overrides } = rule["action_parameters"] as { overrides: object };
  const all: Record<string, unknown> = { ...overrides, ...change };
  const left = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return withParameters(rule, { overrides: left });
};

const OFF = (level: number) => ({ category: `paranoia-level-${level}`, enabled: false });
const WIDER = { rulesets: [managedRulesets.free], rules: { [managedRulesets.owasp]: [OWASP_SCORE_RULE] } };
const A = { expression: 'http.request.uri.path eq "/a"', skip: "all" };
const B = { expression: 'http.request.uri.path eq "/b"', skip: "all" };

/** A declaration with everything that can drift. */
const declared = () =>
  bench.declare({
    description: "shop",
    version: "latest",
    position: { before: "security-team/managed" },
    owasp: { paranoiaLevel: 2, scoreThreshold: "high", action: "managed_challenge" },
    categories: [
      { tag: "sqli", enabled: true },
      { tag: "evasion", enabled: false },
      { tag: "xss", enabled: false },
    ],
    exceptions: [A, B],
  });

/** The report on drift has property, before and after. */
function expectInReport(recorded: Recorded, refreshed: Recorded | undefined, shown: object): void {
  const { changes = [] } = driftOf(TYPE, recorded, refreshed) ?? {};
  const properties = [...new Set(changes.map(({ property }) => property.split(".", 1)[0]))];
  const expected = Object.keys(shown).map((name) => (name === "drift" ? "no argument" : name));
  expect(properties.sort()).toEqual(expected.sort());
  for (const { before, now } of changes) expect(now).not.toBe(before);
}

/** An update puts everything back, and the next one finds no changes. */
async function expectRepair(refreshed: Recorded | undefined): Promise<void> {
  const repaired = await bench.up(declared(), refreshed);
  expect(await bench.refs()).toEqual([
    "monitoring",
    "exception/1",
    "exception/2",
    "own",
    "managed",
    "credentials",
  ]);
  await bench.expectNoChanges(declared(), repaired);
}

describe("a refresh after a manual change", () => {
  const cases: readonly [string, (rule: Rule) => Record<string, unknown>, Record<string, unknown>][] = [
    ["enabled", () => ({ enabled: false }), { enabled: false }],
    [
      "expression",
      () => ({ expression: 'http.host eq "x.example"' }),
      { expression: 'http.host eq "x.example"' },
    ],
    ["description", () => ({ description: "mine" }), { description: "mine" }],
    ["version", (rule) => withParameters(rule, { version: "36" }), { version: "36" }],
    [
      "ruleset",
      (rule) => withParameters(rule, { id: managedRulesets.free, overrides: undefined }),
      { ruleset: { id: managedRulesets.free }, owasp: { paranoiaLevel: 4 }, categories: undefined },
    ],
    [
      "paranoia level up",
      (rule) => withOverrides(rule, { categories: [...DECLARED_CATEGORIES, OFF(4)] }),
      { owasp: { paranoiaLevel: 3, scoreThreshold: 25, action: "managed_challenge" } },
    ],
    [
      "paranoia level down",
      (rule) => withOverrides(rule, { categories: [...DECLARED_CATEGORIES, OFF(2), OFF(3), OFF(4)] }),
      { owasp: { paranoiaLevel: 1, scoreThreshold: 25, action: "managed_challenge" } },
    ],
    [
      "a paranoia level in the middle",
      (rule) => withOverrides(rule, { categories: [...DECLARED_CATEGORIES, OFF(2), OFF(4)] }),
      {
        owasp: undefined,
        categories: [
          { tag: "sqli", enabled: true },
          { tag: "evasion", enabled: false },
          { tag: "xss", enabled: false },
          { tag: "paranoia-level-2", enabled: false },
          { tag: "paranoia-level-4", enabled: false },
        ],
        rules: { [OWASP_SCORE_RULE]: { action: "managed_challenge", scoreThreshold: 25 } },
      },
    ],
    [
      "paranoia levels before the other categories",
      (rule) => withOverrides(rule, { categories: [OFF(3), OFF(4), ...DECLARED_CATEGORIES] }),
      { drift: "the overrides that turn off paranoia levels don't come last" },
    ],
    [
      "order of categories that share a rule",
      (rule) => {
        const [sqli, evasion, xss] = DECLARED_CATEGORIES;
        return withOverrides(rule, { categories: [evasion, sqli, xss, OFF(3), OFF(4)] });
      },
      {
        categories: [
          { tag: "evasion", enabled: false },
          { tag: "sqli", enabled: true },
          { tag: "xss", enabled: false },
        ],
      },
    ],
    [
      "score threshold",
      (rule) =>
        withOverrides(rule, {
          rules: [{ id: OWASP_SCORE_RULE, action: "managed_challenge", score_threshold: 60 }],
        }),
      { owasp: { paranoiaLevel: 2, scoreThreshold: 60, action: "managed_challenge" } },
    ],
    [
      "action of the last rule",
      (rule) =>
        withOverrides(rule, { rules: [{ id: OWASP_SCORE_RULE, action: "log", score_threshold: 25 }] }),
      { owasp: { paranoiaLevel: 2, scoreThreshold: 25, action: "log" } },
    ],
    [
      "the last rule's override removed",
      (rule) => withOverrides(rule, { rules: undefined }),
      { owasp: { paranoiaLevel: 2 } },
    ],
    [
      "the last rule turned off",
      (rule) =>
        withOverrides(rule, {
          rules: [{ id: OWASP_SCORE_RULE, action: "managed_challenge", score_threshold: 25, enabled: false }],
        }),
      { rules: { [OWASP_SCORE_RULE]: { enabled: false } } },
    ],
    ["an action for all rules", (rule) => withOverrides(rule, { action: "log" }), { action: "log" }],
    ["all rules turned off", (rule) => withOverrides(rule, { enabled: false }), { allRulesEnabled: false }],
    [
      "all overrides removed",
      (rule) => withParameters(rule, { overrides: undefined }),
      { owasp: { paranoiaLevel: 4 }, categories: undefined },
    ],
    [
      "another action",
      () => ({ action: "skip", action_parameters: { ruleset: "current" } }),
      { drift: 'the rule\'s action is "skip"' },
    ],
  ];

  test.each(cases)("shows a change that the next update repairs: %s", async (_name, change, shown) => {
    const recorded = await bench.up(declared());
    await bench.expectNoChanges(declared(), recorded);
    const rule = await bench.ownRule();
    await bench.editRule(rule, change(rule));
    bench.api.clearRequests();
    const refreshed = await bench.refresh(recorded);
    expect(bench.writes()).toEqual([]);
    const reported = { versions: [expect.stringContaining("pinned to 36 (the latest is 37)")] };
    const unchanged = "version" in shown ? inputsAfter(recorded, reported) : refreshedInputs(recorded);
    const { drift, ...inputs } = { ...unchanged, ...shown } as Record<string, unknown>;
    // What the change makes of the rules is recorded as if the program declared it.
    const kept = await bench.operation().check(TYPE, { ...declared(), ...shown, drift: undefined }, recorded);
    const { expansion = recorded.inputs["expansion"] } = kept.inputs;
    const expected = drift === undefined ? { ...inputs, expansion } : { ...inputs, drift };
    expect(refreshed.inputs).toEqual(expected);
    expectInReport(recorded, refreshed, shown);

    if (drift === undefined) expect(await bench.step({ ...declared(), ...shown }, refreshed)).toBe("same");
    expect(await bench.step(declared(), refreshed)).toBe("update");
    const repaired = await bench.up(declared(), refreshed);
    expect(bench.writes()).toEqual(["PATCH /{id}/rules/{id}"]);
    expect(await bench.ownRule()).toMatchObject({
      ...rule,
      version: expect.any(String) as string,
      last_updated: expect.any(String) as string,
    });
    await bench.expectNoChanges(declared(), repaired);
  });

  test("shows that the rule is on the wrong side of the rule named in `position`", async () => {
    const recorded = await bench.up(declared());
    await bench.editRule(await bench.ownRule(), { position: { after: "" } });
    const refreshed = await bench.refresh(recorded);
    expect(refreshed.inputs).toMatchObject({
      position: { after: "security-team/managed" },
      drift: "the exceptions aren't all directly in front of the rule",
    });
    await expectRepair(refreshed);
  });

  test("shows no drift if the rule still runs before the rule named in `position`, but not directly before it", async () => {
    const recorded = await bench.up(bench.declare({ position: { before: "security-team/managed" } }));
    await bench.editRule(await bench.ownRule(), { position: { before: "" } });
    expect((await bench.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
  });

  const exception = async (number: number): Promise<Rule> => bench.ownRule(`${REF}/exception/${number}`);
  const exceptionCases: readonly [string, () => Promise<void>, Record<string, unknown>][] = [
    [
      "changed",
      async () => bench.editRule(await exception(1), { expression: B.expression }),
      { exceptions: [{ ...A, expression: B.expression }, B] },
    ],
    [
      "turned off",
      async () => bench.editRule(await exception(2), { enabled: false }),
      { exceptions: [A, { ...B, enabled: false }] },
    ],
    [
      "changed to skip more",
      async () => bench.editRule(await exception(1), { action_parameters: WIDER }),
      { exceptions: [{ ...A, skip: { other: WIDER } }, B] },
    ],
    ["removed", async () => bench.deleteRule(await exception(1)), { exceptions: [B] }],
    [
      "moved after the rule, where it has no effect",
      async () => bench.editRule(await exception(1), { position: { after: "" } }),
      { exceptions: [B] },
    ],
    [
      "moved in front of another",
      async () => bench.editRule(await exception(2), { position: { before: (await exception(1)).id } }),
      { exceptions: [B, A] },
    ],
    [
      "moved away from the rule, where it also skips other rules",
      async () => bench.editRule(await exception(1), { position: { before: "" } }),
      { drift: "the exceptions aren't all directly in front of the rule" },
    ],
  ];
  test.each(exceptionCases)(
    "shows an exception %s, and the next update repairs it",
    async (_name, change, shown) => {
      const recorded = await bench.up(declared());
      await change();
      bench.api.clearRequests();
      const refreshed = await bench.refresh(recorded);
      expect(refreshed.inputs).toEqual({ ...refreshedInputs(recorded), ...shown });
      expectInReport(recorded, refreshed, shown);
      await expectRepair(refreshed);
    },
  );
});

test("a refresh shows no drift once someone has undone a manual change", async () => {
  const recorded = await bench.up(declared());
  const rule = await bench.ownRule();
  await bench.editRule(rule, { action: "skip", action_parameters: { ruleset: "current" } });
  const refreshed = await bench.refresh(recorded);
  expect(refreshed.inputs).toHaveProperty("drift");
  await bench.editRule(rule, {});
  expect(await bench.refresh(refreshed)).toEqual({
    ...recorded,
    inputs: refreshedInputs(recorded),
  });
});

describe("a refresh", () => {
  test("shows no drift in what Cloudflare sets: IDs, versions, times and the log setting of skip rules", async () => {
    const recorded = await bench.up(declared());
    for (const ref of [REF, `${REF}/exception/1`]) {
      const rule = await bench.ownRule(ref);
      await bench.editRule(rule, { description: "twice" });
      await bench.editRule(await bench.ownRule(ref), { description: rule["description"] });
      expect(await bench.ownRule(ref)).not.toMatchObject({ version: rule["version"] });
    }
    await bench.expectNoChanges(declared(), recorded);
  });

  test("shows no drift if categories are reordered without any effect", async () => {
    const recorded = await bench.up(declared());
    const rule = await bench.ownRule();
    const [sqli, evasion, xss] = DECLARED_CATEGORIES;
    await bench.editRule(rule, withOverrides(rule, { categories: [sqli, evasion, xss, OFF(4), OFF(3)] }));
    await bench.expectNoChanges(declared(), recorded);
  });

  test("keeps the recorded values if a ruleset can no longer be read", async () => {
    const recorded = await bench.up(declared());
    bench.api.fault({ match: { method: "GET", path: "/accounts/" }, times: 9, kind: "status", status: 403 });
    expect(await bench.refresh(recorded)).toEqual({
      ...recorded,
      inputs: refreshedInputs(recorded),
    });
  });

  test("doesn't take another managed ruleset in the zone for drift", async () => {
    const plain = bench.declare();
    const recorded = await bench.up(plain);
    const added = await bench.addRule({
      action: "execute",
      action_parameters: { id: managedRulesets.free },
      expression: "true",
      description: "free",
    });
    const refreshed = await bench.refresh(recorded);
    expect(refreshed.outputs).toEqual(recorded.outputs);
    expect(refreshed.inputs).toEqual(refreshedInputs(recorded));
    expect(await bench.step(plain, refreshed)).toBe("same");
    await bench.deleteRule(added);
  });
});

test("a deployment that someone deletes leaves its exceptions: the refresh names them, and what the drift report says to do removes them", async () => {
  const exceptions = [{ expression: 'http.request.uri.path eq "/hook"', skip: "all" }];
  const recorded = await bench.up({ ...bench.declare(), exceptions });
  await bench.deleteRule(await bench.ownRule());
  const left = await bench.ownRule(`${REF}/exception/1`);
  const op = bench.operation();
  expect(await op.refresh(TYPE, recorded)).toBeUndefined();
  expect(op.warned).toEqual([
    expect.stringContaining(`its exceptions still skip rules behind them: ${left.id}`),
  ]);
  expect(driftOf(TYPE, recorded, undefined)?.keep.how).toMatch(
    /remove ManagedRulesetOverride \w+ from the program, and run pulumi up without a refresh before it/,
  );
  await bench.operation().destroy(TYPE, recorded);
  expect(await bench.refs()).not.toContain("exception/1");
});

describe("a skip rule that someone puts in front of the deployment", () => {
  const byHand = { action: "skip", action_parameters: { ruleset: "current" }, position: { index: 1 } };
  const warning = (what: string): unknown[] => [
    expect.stringContaining(`someone else's rule "load test" skips ${what}. Remove that rule`),
  ];
  const refresh = async (recorded: Recorded) => {
    const op = bench.operation();
    const refreshed = await op.refresh(TYPE, recorded);
    if (refreshed === undefined) throw new Error("the rule is gone");
    return { refreshed, warned: op.warned };
  };

  test("is reported once, by the next refresh, and is drift", async () => {
    const plain = bench.declare();
    const recorded = await bench.up(plain);
    const body = { ...byHand, description: "load test", expression: 'http.host eq "a.example"' };
    const added = await bench.addRule({ ...body, enabled: true });

    const first = await refresh(recorded);
    expect(first.warned).toEqual(warning('the whole ruleset for http.host eq "a.example"'));
    const drift = driftOf(TYPE, recorded, first.refreshed);
    expect(drift).toMatchObject({
      lost: warning('the whole ruleset for http.host eq "a.example"'),
      gained: [],
      update: "pulumi up --refresh records it and leaves it in place",
      keep: { how: "To keep the change, run pulumi up --refresh, which records it", code: [] },
    });
    const impact = expect.objectContaining({ drifted: ["otherSkipRules"] }) as unknown;
    expect(first.refreshed.inputs).toEqual({ ...refreshedInputs(recorded), impact });
    await bench.expectNoChanges(plain, first.refreshed);
    expect((await refresh(first.refreshed)).warned).toEqual([]);
    expect(driftOf(TYPE, first.refreshed, first.refreshed)).toBeUndefined();

    await bench.editRule(added, { expression: "true" });
    const wider = await refresh(first.refreshed);
    expect(wider.warned).toEqual(warning("the whole ruleset for all requests"));
    await bench.editRule(added, { expression: 'http.host eq "b.example"' });
    expect((await refresh(wider.refreshed)).warned).toEqual([]);
    await bench.deleteRule(added);
    const without = await refresh(wider.refreshed);
    expect(without.warned).toEqual([]);
    expect(driftOf(TYPE, wider.refreshed, without.refreshed)).toBeUndefined();
  });

  test("is reported again only if it skips more single rules", async () => {
    const plain = bench.declare();
    const recorded = await bench.up(plain);
    const [one = "", two = ""] = (await bench.managedRules(managedRulesets.owasp)).map(({ id }) => id);
    const skipping = (...ids: string[]): Record<string, unknown> => ({
      action_parameters: { rules: { [managedRulesets.owasp]: ids } },
    });
    const body = { ...byHand, description: "load test", expression: "true", enabled: true };
    const added = await bench.addRule({ ...body, ...skipping(one) });
    const first = await refresh(recorded);
    expect(first.warned).toEqual(warning("1 rule for all requests"));
    const same = await refresh(first.refreshed);
    expect(same.warned).toEqual([]);
    await bench.editRule(added, skipping(one, two));
    expect((await refresh(same.refreshed)).warned).toEqual(warning("2 rules for all requests"));
    await bench.deleteRule(added);
  });

  test.each<[string, Record<string, unknown>]>([
    ["something else", { description: "shop" }],
    ["the position, to where the rule is", { position: "last" }],
  ])("is reported by an update of %s, and stays drift: only a refresh records it", async (_, change) => {
    const recorded = await bench.up(bench.declare());
    const added = await bench.addRule({ ...byHand, description: "load test", expression: "true" });
    const op = bench.operation();
    const updated = await op.up(TYPE, bench.declare(change), recorded);
    expect(op.warned).toEqual(warning("the whole ruleset for all requests"));
    const { refreshed } = await refresh(updated);
    expect(driftOf(TYPE, updated, refreshed)?.lost).toEqual(warning("the whole ruleset for all requests"));
    await bench.deleteRule(added);
  });

  test("isn't drift if an update of the program moved the rule behind it", async () => {
    const recorded = await bench.up(bench.declare({ position: "first" }));
    const added = await bench.addRule({ ...byHand, expression: "true", position: { index: 2 } });
    const op = bench.operation();
    const updated = await op.up(TYPE, bench.declare({ position: "last" }), recorded);
    expect(op.warned.join()).not.toContain("someone else's rule");
    const { refreshed } = await refresh(updated);
    expect(driftOf(TYPE, updated, refreshed)).toBeUndefined();
    await bench.deleteRule(added);
  });

  test("is named in the preview of an update if it stands between the exceptions and the deployment", async () => {
    const exceptions = [{ expression: 'http.request.uri.path eq "/hook"', skip: "all" }];
    const declared = { ...bench.declare(), exceptions };
    const recorded = await bench.up(declared);
    const { id } = await bench.ownRule();
    const added = await bench.addRule({ ...byHand, expression: "true", position: { before: id } });
    const op = bench.operation();
    await op.preview(TYPE, { ...declared, description: "shop" }, recorded);
    expect(op.warned).toEqual([
      expect.stringContaining(
        "outside the program: the exceptions aren't all directly in front of the rule.",
      ),
    ]);
    await bench.deleteRule(added);
  });

  test.each<[string, object]>([
    ["is disabled", { enabled: false }],
    ["comes after it", { position: { index: 5 } }],
    ["skips another ruleset", { action_parameters: { rulesets: [managedRulesets.free] } }],
    ["is another deployment's exception", { ref: "edgeguard/site/dev/other/exception/1" }],
  ])("isn't told if it %s", async (_, change) => {
    const recorded = await bench.up(bench.declare());
    const added = await bench.addRule({ ...byHand, expression: "true", enabled: true, ...change });
    const { refreshed, warned } = await refresh(recorded);
    expect(warned).toEqual([]);
    expect(driftOf(TYPE, recorded, refreshed)).toBeUndefined();
    await bench.deleteRule(added);
  });
});

const DECLARED_CATEGORIES = [
  { category: "sqli", enabled: true },
  { category: "evasion", enabled: false },
  { category: "xss", enabled: false },
] as const;
