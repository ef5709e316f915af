import fc from "fast-check";
import { managedRulesets } from "edgeguard-local";
import { ACTIONS, type DeclaredOverrides } from "../../provider/rulesets/arguments";
import { conflictsOf, effectiveRules } from "../../provider/rulesets/effective";
import { validate } from "../../provider/rulesets/validate";
import {
  compileOverrides,
  decompileOverrides,
  sameCategories,
  sameOverrides,
  scoreRuleOf,
  sharedTagsOf,
} from "../../provider/rulesets/overrides";
import { readManagedRuleset } from "../../provider/rulesets/managed";
import { toOverrides, type ManagedRuleset, type Overrides } from "../../provider/rulesets/wire";
import { clientOf } from "../support/edge-client";
import { RulesetsBench } from "./support";
import { accounts } from "../support/bench";
import { LONG } from "../support/long";

/** Properties of overrides, for random declarations for the local API's rulesets. */

const bench = new RulesetsBench({ shared: true });
let owaspRuleset: ManagedRuleset;
let managedRuleset: ManagedRuleset;
beforeAll(async () => {
  const { client } = clientOf(bench.api.url);
  const read = (id: string) => readManagedRuleset(client, accounts.main, id);
  [owaspRuleset, managedRuleset] = await Promise.all([
    read(managedRulesets.owasp),
    read(managedRulesets.managed),
  ]);
  await client.close();
});

const RUNS = LONG ? 2_000 : 15;

const optional = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined });
const given = <T extends object>(record: T): T =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;
const action = fc.constantFrom(...ACTIONS);

/** Declarations that are valid for a ruleset. */
function declarations(ruleset: ManagedRuleset, withOwasp: boolean): fc.Arbitrary<DeclaredOverrides> {
  const tags = [...new Set(ruleset.rules.flatMap((rule) => rule.tags))];
  const ids = ruleset.rules.map(({ id }) => id);
  const override = fc
    .record({ enabled: optional(fc.boolean()), action: optional(action) })
    .map(given)
    .filter((entry) => Object.keys(entry).length > 0);
  return fc
    .record({
      owasp: withOwasp
        ? optional(
            fc
              .record({
                paranoiaLevel: fc.constantFrom(1 as const, 2 as const, 3 as const, 4 as const),
                scoreThreshold: optional(fc.integer({ min: 1, max: 80 })),
                action: optional(action),
              })
              .map(given),
          )
        : fc.constant(undefined),
      categories: optional(
        fc
          .uniqueArray(fc.constantFrom(...tags), { minLength: 1, maxLength: 8 })
          .chain((chosen) => fc.tuple(...chosen.map((tag) => override.map((entry) => ({ tag, ...entry }))))),
      ),
      rules: optional(fc.dictionary(fc.constantFrom(...ids), override, { minKeys: 1, maxKeys: 8 })),
      action: optional(action),
    })
    .map((declared) => given(declared) as DeclaredOverrides)
    .filter((declared) => validate(declared, ruleset).length === 0);
}

const both = (): readonly (readonly [ManagedRuleset, boolean])[] => [
  [owaspRuleset, true],
  [managedRuleset, false],
];

function compile(declared: DeclaredOverrides, ruleset: ManagedRuleset): Overrides {
  return compileOverrides(declared, scoreRuleOf(ruleset));
}

function sharedTagsIn(overrides: Overrides, ruleset: ManagedRuleset): ReturnType<typeof sharedTagsOf> {
  return sharedTagsOf(
    ruleset,
    overrides.categories.map(({ tag }) => tag),
  );
}

test(`converts a declaration to overrides and back without a change (${RUNS} of 2,000)`, () => {
  for (const [ruleset, withOwasp] of both()) {
    fc.assert(
      fc.property(declarations(ruleset, withOwasp), (declared) => {
        const overrides = compile(declared, ruleset);
        const shared = sharedTagsIn(overrides, ruleset);
        const back = decompileOverrides(overrides, declared, scoreRuleOf(ruleset), shared);
        expect(back).toEqual({ declared, inexpressible: [] });
      }),
      { numRuns: RUNS },
    );
  }
});

test(`a declaration read from someone else's overrides has the same effect, whichever declaration it's based on (${RUNS} of 2,000)`, () => {
  for (const [ruleset, withOwasp] of both()) {
    const shared = sharedTagsOf(
      ruleset,
      ruleset.rules.flatMap(({ tags }) => tags),
    );
    fc.assert(
      fc.property(declarations(ruleset, withOwasp), declarations(ruleset, withOwasp), (declared, other) => {
        const live = compile(other, ruleset);
        const read = decompileOverrides(live, declared, scoreRuleOf(ruleset), shared);
        const again = compile(read.declared, ruleset);
        if (read.inexpressible.length > 0) return; // Described in words instead.
        expect(effectiveRules(ruleset, again)).toEqual(effectiveRules(ruleset, live));
      }),
      { numRuns: RUNS },
    );
  }
});

test(`two orders of categories that count as the same have the same effect on every rule (${RUNS} of 2,000)`, () => {
  const isDecidedAlike = (a: Overrides, b: Overrides): boolean =>
    JSON.stringify(effectiveRules(managedRuleset, a)) === JSON.stringify(effectiveRules(managedRuleset, b));
  fc.assert(
    fc.property(
      declarations(managedRuleset, false).filter(({ categories = [] }) => categories.length > 1),
      fc.infiniteStream(fc.nat()),
      (declared, numbers) => {
        const overrides = compile(declared, managedRuleset);
        const shared = sharedTagsIn(overrides, managedRuleset);
        const shuffled = overrides.categories
          .map((entry) => [numbers.next().value as number, entry] as const)
          .sort(([a], [b]) => a - b)
          .map(([, entry]) => entry);
        const other = { ...overrides, categories: shuffled };
        const same = sameCategories(overrides.categories, shuffled, shared);
        expect(sameOverrides(overrides, other, shared)).toBe(same);
        if (same) expect(isDecidedAlike(overrides, other)).toBe(true);
        if (shared.length === 0) expect(same).toBe(true);
      },
    ),
    { numRuns: RUNS },
  );
});

test("counts as conflicts the rules that would change if the categories were swapped", () => {
  const [one, other] = [
    { tag: "java", enabled: true },
    { tag: "sqli", enabled: false },
  ] as const;
  const first = { categories: [one, other], rules: {} };
  const second = { categories: [other, one], rules: {} };
  const [conflict, ...more] = conflictsOf(managedRuleset, first);
  const before = effectiveRules(managedRuleset, first);
  const differ = effectiveRules(managedRuleset, second).filter(
    (rule, at) => rule.enabled !== before[at]?.enabled,
  );
  expect(conflict).toEqual({
    tags: ["java", "sqli"],
    winner: "sqli",
    member: "enabled",
    rules: differ.length,
  });
  expect(more).toEqual([]);
  expect(differ.length).toBeGreaterThan(0);
});

test("computes the same effective rules as the local API, which has its own implementation", async () => {
  bench.inZone("empty");
  await bench.up(bench.declare());
  const samples = [
    ...fc
      .sample(declarations(owaspRuleset, true), { numRuns: 6, seed: 7 })
      .map((d) => [owaspRuleset, d] as const),
    ...fc
      .sample(declarations(managedRuleset, false), { numRuns: 10, seed: 7 })
      .map((d) => [managedRuleset, d] as const),
  ];
  const rule = await bench.ownRule();
  for (const [ruleset, declared] of samples) {
    const overrides = compile(declared, ruleset);
    const wire = toOverrides(overrides);
    await bench.editRule(rule, {
      action_parameters: { id: ruleset.id, ...(wire === undefined ? {} : { overrides: wire }) },
    });
    const { rules } = await bench.effectiveDeployment();
    expect(
      effectiveRules(ruleset, overrides).map(({ id, enabled, action, scoreThreshold, decided }) => ({
        id,
        enabled,
        action,
        decided,
        ...(scoreThreshold === undefined ? {} : { score_threshold: scoreThreshold }),
      })),
    ).toEqual(
      rules.map(({ id, enabled, action, score_threshold, decided }) => ({
        id,
        enabled,
        action,
        decided,
        ...(score_threshold === undefined ? {} : { score_threshold }),
      })),
    );
  }
});
