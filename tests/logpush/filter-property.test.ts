import { strictEqual } from "node:assert";
import fc from "fast-check";
import * as filter from "../../provider/logpush/filter";
import type { Condition, FilterNode } from "../../provider/logpush/filter";
import { parseFilter, type CheckedFilter } from "../../provider/logpush/filter-read";
import { compileFilter, filterMeaning } from "../../provider/logpush/filter-text";
import { letsThrough } from "./independent-evaluator";
import { passes } from "../../provider/logpush/test-filter";
import { LONG } from "../support/long";

/**
 * Random filters compile, parse back, normalize to themselves, and match what the independent evaluator says.
 */
const RUNS = LONG ? 10_000 : 300;

const word = fc.oneof(
  fc.constantFrom(
    "",
    "a",
    "ab",
    "/api",
    "/api/v1",
    "example.com",
    "true",
    "200",
    "02",
    "1e3",
    "größe",
    '"',
    "\\",
    "\u2028",
  ),
  fc.string({ maxLength: 6 }),
);
const whole = fc.oneof(fc.constantFrom(0, 1, -1, 200, 404, 500), fc.integer({ min: -1000, max: 1000 }));
const moment = fc.integer({ min: 1_000_000_000, max: 2_000_000_000 });
const date = moment.map((seconds) => new Date(seconds * 1000).toISOString().replace(".000", ""));

/** Fields by the values that lines have in them; an unknown field may have any. */
const VALUES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  ClientRequestHost: word,
  ClientRequestPath: word,
  EdgeResponseStatus: whole,
  EdgeResponseCompressionRatio: fc
    .double({ min: -5, max: 5, noNaN: true })
    .map((n) => Math.round(n * 100) / 100 + 0),
  WorkerSubrequest: fc.boolean(),
  EdgeStartTimestamp: fc.oneof(
    date,
    moment,
    moment.map((s) => s * 1000),
  ),
  SecurityActions: fc.array(word, { maxLength: 3 }),
  BotDetectionIDs: fc.array(whole, { maxLength: 3 }),
  Custom: fc.oneof(
    word,
    whole,
    fc.boolean(),
    fc.constant(null),
    fc.constant({ a: 1 }),
    fc.array(word, { maxLength: 2 }),
  ),
};
const FIELDS = Object.keys(VALUES);
const field = fc.constantFrom(...FIELDS);

const one = fc.oneof(word, whole, fc.boolean(), date);
const list = fc.oneof(
  fc.array(word, { minLength: 1, maxLength: 4 }),
  fc.array(whole, { minLength: 1, maxLength: 4 }),
);

/** The builders as JavaScript sees them: any field, any value. */
type Builder = (field: string, value: never) => Condition;
const builders = (...named: readonly unknown[]): fc.Arbitrary<Builder> =>
  fc.constantFrom(...(named as readonly Builder[]));

const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc
    .tuple(builders(filter.eq, filter.notEq, filter.lt, filter.leq, filter.gt, filter.geq), field, one)
    .map(([build, name, value]) => build(name, value as never)),
  fc
    .tuple(
      builders(filter.startsWith, filter.endsWith, filter.notStartsWith, filter.notEndsWith),
      field,
      word,
    )
    .map(([build, name, value]) => build(name, value as never)),
  fc
    .tuple(builders(filter.contains, filter.notContains), field, fc.oneof(word, whole))
    .map(([build, name, value]) => build(name, value as never)),
  fc
    .tuple(builders(filter.isIn, filter.notIn), field, list)
    .map(([build, name, values]) => build(name, values as never)),
);

const { node } = fc.letrec<{ node: FilterNode; group: FilterNode }>((tie) => ({
  node: fc.oneof({ maxDepth: 3, withCrossShrink: true }, condition, tie("group")),
  group: fc
    .tuple(fc.constantFrom(filter.and, filter.or), fc.array(tie("node"), { minLength: 1, maxLength: 4 }))
    .map(([build, [first, ...more]]) =>
      first === undefined ? build(filter.eq("a", "b")) : build(first, ...more),
    ),
}));

/** A line that has most fields. */
const line = fc.record(VALUES, { requiredKeys: [] });

/** The same filter with conditions, list elements and members in reverse, and with whitespace. */
function rewritten(given: CheckedFilter): string {
  const turned = (value: unknown): unknown =>
    Array.isArray(value)
      ? [...(value as unknown[])].map(turned).reverse()
      : typeof value === "object" && value !== null
        ? Object.fromEntries(
            Object.entries(value)
              .reverse()
              .map(([key, each]) => [key, turned(each)]),
          )
        : value;
  return JSON.stringify(turned(JSON.parse(compileFilter(given))), null, 3);
}

test(`${RUNS} random filters (10,000 with EDGEGUARD_TEST_LONG=1) pass the same lines however they're written, and two independent evaluators agree`, () => {
  let passed = 0;
  let lines = 0;
  fc.assert(
    fc.property(node, fc.array(line, { minLength: 3, maxLength: 3 }), (root, samples) => {
      const text = filter.compile(filter.where(root));
      const read = parseFilter(text);
      // Node's assertions are faster than Jest's, which matters here.
      // 1. It parses back to what was sent, and normalizes to itself.
      strictEqual(compileFilter(read), text);
      strictEqual(JSON.stringify(JSON.parse(text)), text);
      // 2. In another order and spacing, it means the same.
      const other = rewritten(read);
      strictEqual(filterMeaning(other), filterMeaning(text));
      strictEqual(filterMeaning(compileFilter(parseFilter(other))), filterMeaning(text));
      strictEqual(filterMeaning(filterMeaning(text)), filterMeaning(text));
      // 3. Both evaluators agree on each spelling.
      for (const sample of samples) {
        const verdict = letsThrough(text, sample);
        strictEqual(passes(read, sample), verdict);
        strictEqual(passes(parseFilter(other), sample), verdict);
        lines += 1;
        if (verdict) passed += 1;
      }
    }),
    { numRuns: RUNS },
  );
  // A fair share of the lines passed, and a fair share didn't.
  expect(lines).toBe(3 * RUNS);
  expect(passed / lines).toBeGreaterThan(0.15);
  expect(passed / lines).toBeLessThan(0.85);
});

test("changing any part of a filter changes its canonical form", () => {
  const base = { key: "ClientRequestHost", operator: "eq", value: "a" };
  const meanings = [
    base,
    { ...base, key: "ClientRequestPath" },
    { ...base, operator: "!eq" },
    { ...base, value: "b" },
    { ...base, operator: "in", value: ["a"] },
    { or: [base] },
    { and: [base, base] },
    { and: [{ or: [base] }] },
  ].map((where) => filterMeaning(JSON.stringify({ where })));
  expect(new Set(meanings).size).toBe(meanings.length);
});
