import * as fc from "fast-check";
import type { RuleAction } from "../../provider/rulesets/arguments";
import { compareDeclared, compareEffects, isWeaker } from "../../provider/rulesets/compare-effects";
import type { ManagedRule, Overrides } from "../../provider/rulesets/wire";

/** Whether overrides protect less, with and without knowing the ruleset's rules. */

const none: Overrides = { categories: [], rules: {} };

test("ranks actions from block to log, and off below all of them", () => {
  const order = ["block", "managed_challenge", "js_challenge", "log", "off"];
  order.forEach((one, at) => order.forEach((other, index) => expect(isWeaker(one, other)).toBe(index > at)));
  expect(isWeaker("challenge", "js_challenge")).toBe(false);
  // An unranked action may be weaker or stronger.
  expect([isWeaker("rewrite", "log"), isWeaker("log", "rewrite"), isWeaker("rewrite", "block")]).toEqual([
    true,
    true,
    false,
  ]);
});

describe("when overrides are compared without the ruleset's rules", () => {
  test.each<[string, Overrides, Overrides]>([
    ["when everything blocks", none, { ...none, action: "block" }],
    ["when log, the weakest action, is removed", { ...none, action: "log" }, none],
    ["when a tag is no longer off", { ...none, categories: [{ tag: "a", enabled: false }] }, none],
    ["when a tag is on", none, { ...none, categories: [{ tag: "a", enabled: true }] }],
    [
      "when a rule's threshold falls",
      { ...none, rules: { a: { scoreThreshold: 40 } } },
      { ...none, rules: { a: { scoreThreshold: 25 } } },
    ],
  ])("a change counts as safe %s", (_, before, after) => {
    expect(compareDeclared(before, after)).toEqual([]);
  });
});

describe("when weaker overrides are looked for without the ruleset's rules", () => {
  const [a, b] = [
    { tag: "a", enabled: false },
    { tag: "b", enabled: true },
  ];
  test.each<[string, Overrides, Overrides, string]>([
    ["when block is removed", { ...none, action: "block" }, none, "all rules action block → by default"],
    ["when a tag is off", none, { ...none, categories: [a] }, "tag a by default → off"],
    ["when a tag is no longer on", { ...none, categories: [b] }, none, "tag b on → by default"],
    [
      "when a threshold is removed",
      { ...none, rules: { x: { scoreThreshold: 25 } } },
      none,
      "rule x score threshold 25 (high) → the ruleset's default",
    ],
    [
      "when a different tag's override applies",
      { ...none, categories: [a, b] },
      { ...none, categories: [b, a] },
      "order of tags a, b → b, a",
    ],
  ])("a change counts as weaker %s", (_, before, after, line) => {
    expect(compareDeclared(before, after)).toEqual([line]);
  });
});

test("only what acts is compared, so neither the action nor the threshold of a rule that's off", () => {
  const one = { id: "1", description: "", enabled: true, action: "block", tags: [], scoreThreshold: 40 };
  const managed = { id: "r", name: "R", version: "1", rules: [one] };
  const log: Overrides = { ...none, rules: { "1": { action: "log", scoreThreshold: 60 } } };
  const off: Overrides = { ...none, rules: { "1": { enabled: false, action: "log", scoreThreshold: 60 } } };
  expect(compareDeclared(none, off)).toEqual(["rule 1 by default → off"]);
  const lines = (before: object, after: object): unknown => {
    const { weaker, stronger } = compareEffects(
      { managed, overrides: none, ...before },
      { managed, overrides: log, ...after },
    );
    return { weaker, stronger };
  };
  expect(lines({}, {})).toEqual({
    weaker: ["1 rule block → log", "score threshold 40 (medium) → 60 (low)"],
    stronger: [],
  });
  expect(lines({}, { overrides: off })).toEqual({ weaker: ["1 rule block → off"], stronger: [] });
});

test("a change that's judged safe without the ruleset's rules doesn't weaken any ruleset", () => {
  const tags = ["a", "b", "c"];
  const action = fc.constantFrom<RuleAction>("block", "managed_challenge", "log");
  // Mostly from weak to strong, so that enough changes pass.
  const overridesOf = (
    enabled: fc.Arbitrary<boolean>,
    to: fc.Arbitrary<RuleAction>,
  ): fc.Arbitrary<Overrides> => {
    const override = fc.record({ enabled, action: to }, { requiredKeys: [] });
    const entry = fc.tuple(fc.constantFrom(...tags), override);
    return fc
      .tuple(
        fc.option(to, { nil: undefined }),
        fc.uniqueArray(entry, { selector: ([tag]) => tag, maxLength: 2 }),
        fc.dictionary(fc.constantFrom("1", "2"), override, { maxKeys: 1 }),
      )
      .map(([all, categories, rules]) => ({
        ...(all === undefined ? {} : { action: all }),
        categories: categories.map(([tag, member]) => ({ tag, ...member })),
        rules,
      }));
  };
  const weak = overridesOf(fc.constantFrom(false, false, true), fc.constantFrom("log", "log", "block"));
  const strong = overridesOf(fc.constantFrom(true, true, false), fc.constantFrom("block", "block", "log"));
  const rule = fc.record({ enabled: fc.boolean(), action, tags: fc.subarray(tags) });
  const ruleset = fc.array(rule, { minLength: 2, maxLength: 5 }).map((rules) => ({
    id: "r",
    name: "R",
    version: "1",
    rules: rules.map((one, index): ManagedRule => ({ ...one, id: String(index + 1), description: "" })),
  }));
  let passed = 0;
  fc.assert(
    fc.property(ruleset, weak, strong, (managed, before, after) => {
      if (compareDeclared(before, after).length > 0) return;
      passed += 1;
      const { weaker } = compareEffects({ managed, overrides: before }, { managed, overrides: after });
      expect(weaker).toEqual([]);
    }),
    { numRuns: 2_000, seed: 5 },
  );
  expect(passed).toBeGreaterThan(50);
});
