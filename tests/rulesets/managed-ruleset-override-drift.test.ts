import { managedRulesets, OWASP_SCORE_RULE } from "edgeguard-local";
import type { Recorded } from "../support/operation";
import { Bench, REF, TYPE, type Rule } from "./support";

let bench: Bench;
let foreign: string;
beforeEach(async () => {
  bench = await Bench.start();
  foreign = await bench.foreign();
});
afterEach(async () => {
  const now = await bench.foreign();
  await bench.close();
  expect(now).toBe(foreign);
});

/** What a change in the dashboard makes of the parameters. */
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

/** Everything that can drift, in one declaration. */
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

/** An up brings everything back to its place, and the next one finds nothing to do. */
async function putRight(refreshed: Recorded | undefined): Promise<void> {
  const repaired = await bench.up(declared(), refreshed);
  expect(await bench.order()).toEqual([
    "monitoring",
    "exception/1",
    "exception/2",
    "own",
    "managed",
    "credentials",
  ]);
  await bench.settled(declared(), repaired);
}

describe("what somebody changes by hand is shown by a refresh and put right by the next up:", () => {
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
      "a level in the middle",
      (rule) => withOverrides(rule, { categories: [...DECLARED_CATEGORIES, OFF(2), OFF(4)] }),
      {
        owasp: { paranoiaLevel: 3, scoreThreshold: 25, action: "managed_challenge" },
        categories: [
          { tag: "sqli", enabled: true },
          { tag: "evasion", enabled: false },
          { tag: "xss", enabled: false },
          { tag: "paranoia-level-2", enabled: false },
        ],
      },
    ],
    [
      "levels before the other categories",
      (rule) => withOverrides(rule, { categories: [OFF(3), OFF(4), ...DECLARED_CATEGORIES] }),
      { drift: "the paranoia levels are not switched off behind the other categories" },
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
      "threshold",
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
      "the last rule's override gone",
      (rule) => withOverrides(rule, { rules: undefined }),
      { owasp: { paranoiaLevel: 2 } },
    ],
    [
      "the last rule off",
      (rule) =>
        withOverrides(rule, {
          rules: [{ id: OWASP_SCORE_RULE, action: "managed_challenge", score_threshold: 25, enabled: false }],
        }),
      { rules: { [OWASP_SCORE_RULE]: { enabled: false } } },
    ],
    ["an action for all rules", (rule) => withOverrides(rule, { action: "log" }), { action: "log" }],
    [
      "the whole ruleset off, which no argument says",
      (rule) => withOverrides(rule, { enabled: false }),
      { drift: "the whole ruleset is switched off by an override" },
    ],
    [
      "no overrides at all",
      (rule) => withParameters(rule, { overrides: undefined }),
      { owasp: { paranoiaLevel: 4 }, categories: undefined },
    ],
    [
      "another action",
      () => ({ action: "skip", action_parameters: { ruleset: "current" } }),
      { drift: 'its action is "skip"' },
    ],
  ];

  test.each(cases)("%s", async (_name, change, shown) => {
    const recorded = await bench.up(declared());
    await bench.settled(declared(), recorded);
    const rule = await bench.own();
    await bench.edit(rule, change(rule));
    bench.api.clearRequests();
    const refreshed = await bench.operation().refresh(TYPE, recorded);
    expect(bench.writes()).toEqual([]);
    const { drift, ...inputs } = { ...recorded.inputs, ...shown } as Record<string, unknown>;
    const expected = drift === undefined ? inputs : { ...inputs, drift };
    expect(refreshed?.inputs).toEqual(JSON.parse(JSON.stringify(expected)));

    expect(await bench.operation().preview(TYPE, declared(), refreshed)).toMatchObject({ step: "update" });
    const repaired = await bench.up(declared(), refreshed);
    expect(bench.writes()).toEqual(["PATCH /{id}/rules/{id}"]);
    expect(await bench.own()).toMatchObject({
      ...rule,
      version: expect.any(String) as string,
      last_updated: expect.any(String) as string,
    });
    await bench.settled(declared(), repaired);
  });

  test("the place, on the wrong side of the rule it was to stand before", async () => {
    const recorded = await bench.up(declared());
    await bench.edit(await bench.own(), { position: { after: "" } });
    const refreshed = await bench.operation().refresh(TYPE, recorded);
    expect(refreshed?.inputs).toMatchObject({
      position: { after: "security-team/managed" },
      drift: "the exceptions do not stand directly in front of it",
    });
    await putRight(refreshed);
  });

  test("further in front of it is none", async () => {
    const recorded = await bench.up(bench.declare({ position: { before: "security-team/managed" } }));
    await bench.edit(await bench.own(), { position: { before: "" } });
    expect((await bench.operation().refresh(TYPE, recorded))?.inputs).toEqual(recorded.inputs);
  });

  const exception = async (number: number): Promise<Rule> => bench.own(`${REF}/exception/${number}`);
  const exceptionCases: readonly [string, () => Promise<void>, Record<string, unknown>][] = [
    [
      "changed",
      async () => bench.edit(await exception(1), { expression: B.expression }),
      { exceptions: [{ ...A, expression: B.expression }, B] },
    ],
    [
      "switched off",
      async () => bench.edit(await exception(2), { enabled: false }),
      { exceptions: [A, { ...B, enabled: false }] },
    ],
    [
      "made wider",
      async () => bench.edit(await exception(1), { action_parameters: WIDER }),
      { exceptions: [{ ...A, skip: { other: WIDER } }, B] },
    ],
    ["removed", async () => bench.remove(await exception(1)), { exceptions: [B] }],
    [
      "moved behind the rule, where it does nothing",
      async () => bench.edit(await exception(1), { position: { after: "" } }),
      { exceptions: [B] },
    ],
    [
      "in another order",
      async () => bench.edit(await exception(2), { position: { before: (await exception(1)).id } }),
      { exceptions: [B, A] },
    ],
    [
      "moved away from the rule, where it skips rules of others too",
      async () => bench.edit(await exception(1), { position: { before: "" } }),
      { drift: "the exceptions do not stand directly in front of it" },
    ],
  ];
  test.each(exceptionCases)("an exception %s", async (_name, change, shown) => {
    const recorded = await bench.up(declared());
    await change();
    bench.api.clearRequests();
    const refreshed = await bench.operation().refresh(TYPE, recorded);
    expect(refreshed?.inputs).toEqual({ ...recorded.inputs, ...shown });
    await putRight(refreshed);
  });
});

test("what was put right by hand before the next up is drift no more", async () => {
  const recorded = await bench.up(declared());
  const rule = await bench.own();
  await bench.edit(rule, withOverrides(rule, { enabled: false }));
  const refreshed = await bench.operation().refresh(TYPE, recorded);
  expect(refreshed?.inputs).toHaveProperty("drift");
  await bench.edit(rule, {});
  expect(await bench.operation().refresh(TYPE, refreshed ?? recorded)).toEqual(recorded);
});

describe("no drift is", () => {
  test("what the service fills in or counts up: ids, versions, times, a log setting of skip rules", async () => {
    const recorded = await bench.up(declared());
    for (const ref of [REF, `${REF}/exception/1`]) {
      const rule = await bench.own(ref);
      await bench.edit(rule, { description: "twice" });
      await bench.edit(await bench.own(ref), { description: rule["description"] });
      expect(await bench.own(ref)).not.toMatchObject({ version: rule["version"] });
    }
    await bench.settled(declared(), recorded);
  });

  test("an order of categories that decides nothing", async () => {
    const recorded = await bench.up(declared());
    const rule = await bench.own();
    const [sqli, evasion, xss] = DECLARED_CATEGORIES;
    await bench.edit(rule, withOverrides(rule, { categories: [sqli, evasion, xss, OFF(4), OFF(3)] }));
    await bench.settled(declared(), recorded);
  });

  test("what a ruleset looks like that cannot be read any more: the refresh goes on with what is recorded", async () => {
    const recorded = await bench.up(declared());
    bench.api.fault({ match: { method: "GET", path: "/accounts/" }, times: 9, kind: "status", status: 403 });
    expect(await bench.operation().refresh(TYPE, recorded)).toEqual(recorded);
  });

  test("another managed ruleset in the zone: it is an output", async () => {
    const plain = bench.declare();
    const recorded = await bench.up(plain);
    const added = await bench.add({
      action: "execute",
      action_parameters: { id: managedRulesets.free },
      expression: "true",
      description: "free",
    });
    const refreshed = await bench.operation().refresh(TYPE, recorded);
    expect(refreshed?.outputs["otherManagedRules"]).toHaveLength(3);
    expect(refreshed?.inputs).toEqual(recorded.inputs);
    expect(await bench.operation().preview(TYPE, plain, refreshed)).toMatchObject({ step: "same" });
    await bench.remove(added);
  });
});

const DECLARED_CATEGORIES = [
  { category: "sqli", enabled: true },
  { category: "evasion", enabled: false },
  { category: "xss", enabled: false },
] as const;
