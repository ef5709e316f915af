import * as fc from "fast-check";
import {
  compile,
  and,
  eq,
  geq,
  gt,
  isIn,
  leq,
  lt,
  notEq,
  notIn,
  or,
  startsWith,
  where,
  type FilterNode,
} from "../../provider/logpush/filter";
import { passesAtLeast } from "../../provider/logpush/filter-compare";
import { childrenOf, isLeaf, parseFilter, type Node } from "../../provider/logpush/filter-read";

const text = (node: FilterNode): string => compile(where(node));
const a = eq("A", "1");
const b = eq("B", "1");
const c = eq("C", "1");

describe("a changed filter still passes every line that it passed before", () => {
  test.each<[string, FilterNode | undefined, FilterNode | undefined]>([
    ["if it's removed", a, undefined],
    ["if its conditions are reordered", and(a, b), and(b, a)],
    ["if a condition is removed", and(a, b), a],
    ["if an alternative is added", a, or(a, b)],
    ["if a value is added", eq("A", "1"), isIn("A", ["1", "2"])],
    ["if an excluded value is removed", notIn("A", ["1", "2"]), notEq("A", "1")],
    ["if its lower bound decreases", gt("A", 500), geq("A", 400)],
    ["if its prefix gets shorter", startsWith("A", "/api/v1"), startsWith("A", "/api")],
    ["if a condition is removed from a nested group", or(and(a, eq("C", "1")), b), or(b, a)],
    ["if a common condition is factored out", or(and(a, c), and(b, c)), and(or(a, b), c)],
    ["if a common condition is repeated", and(or(a, b), c), or(and(a, c), and(b, c))],
    ["if a list is split", and(isIn("A", ["1", "2"]), b), or(and(eq("A", "2"), b), and(a, b))],
    [
      "if a time increases in its unit",
      lt("EdgeEndTimestamp", 1704067200),
      lt("EdgeEndTimestamp", 1800000000),
    ],
    [
      "if a size gets more digits",
      lt("EdgeResponseBytes", 5_000_000_000),
      lt("EdgeResponseBytes", 10_000_000_000),
    ],
  ])("%s", (_, before, after) => {
    expect(passesAtLeast(before && text(before), after && text(after))).toBe(true);
  });
});

describe("a changed filter may reject a line that it passed before", () => {
  test.each<[string, FilterNode | undefined, FilterNode]>([
    ["if there was no filter", undefined, a],
    ["if a condition is added", a, and(a, b)],
    ["if an alternative is removed", or(a, b), a],
    ["if a value is removed", isIn("A", ["1", "2"]), eq("A", "1")],
    ["if an excluded value is added", notEq("A", "1"), notIn("A", ["1", "2"])],
    ["if its lower bound increases", geq("A", 400), gt("A", 400)],
    ["if its upper bound no longer includes the value", leq("A", 400), lt("A", 400)],
    ["if it excludes the same number, written differently", eq("A", "5"), notEq("A", "5.0")],
    ["if one of two alternatives gets a condition", and(or(a, b), c), or(and(a, c), and(b, c, eq("D", "1")))],
    [
      "if a time in seconds becomes an earlier one in milliseconds",
      lt("EdgeEndTimestamp", 1704067200),
      lt("EdgeEndTimestamp", 1600000000000),
    ],
    [
      "if a time in nanoseconds becomes a later one in seconds",
      gt("EdgeEndTimestamp", 1600000000000000),
      gt("EdgeEndTimestamp", 1704067200),
    ],
    ["if a field without a documented type may be a time", lt("A", 1704067200), lt("A", 1600000000000)],
    [
      "if it excludes the same time, written in another unit",
      eq("EdgeEndTimestamp", "1704067200"),
      notEq("EdgeEndTimestamp", "1704067200000000000"),
    ],
    [
      "if it excludes the same time, written as a date",
      eq("EdgeEndTimestamp", "1704067200"),
      notEq("EdgeEndTimestamp", "2024-01-01T00:00:00Z"),
    ],
    [
      "if a time is a nanosecond earlier",
      lt("EdgeEndTimestamp", "1704067200000000001"),
      lt("EdgeEndTimestamp", "1704067200000000000"),
    ],
  ])("%s", (_, before, after) => {
    expect(passesAtLeast(before && text(before), text(after))).toBe(false);
  });
});

test("for random filters, never claims that a line still passes when it doesn't", () => {
  const leaf = fc.oneof(
    fc.tuple(fc.constantFrom("A", "B"), fc.integer({ min: 0, max: 3 })).map(([key, n]) => eq(key, String(n))),
    fc
      .tuple(fc.constantFrom("A", "B"), fc.integer({ min: 0, max: 3 }))
      .map(([key, n]) => notEq(key, String(n))),
    fc.tuple(fc.constantFrom("A", "B"), fc.integer({ min: 0, max: 3 })).map(([key, n]) => lt(key, n)),
    fc.tuple(fc.constantFrom("A", "B"), fc.integer({ min: 0, max: 3 })).map(([key, n]) => geq(key, n)),
    fc
      .tuple(fc.constantFrom("A", "B"), fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1 }))
      .map(([key, list]) => isIn(key, list.map(String))),
  );
  const { node } = fc.letrec<{ node: FilterNode }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc
        .array(tie("node"), { minLength: 1, maxLength: 3 })
        .map(([first, ...more]) => and(first ?? a, ...more)),
      fc
        .array(tie("node"), { minLength: 1, maxLength: 3 })
        .map(([first, ...more]) => or(first ?? a, ...more)),
    ),
  }));
  const lines = [0, 1, 2, 3].flatMap((A) => [0, 1, 2, 3].map((B) => ({ A, B })));
  let proven = 0;
  fc.assert(
    fc.property(node, node, (before, after) => {
      if (!passesAtLeast(text(before), text(after))) return;
      proven += 1;
      const [one, other] = [parseFilter(text(before)).where, parseFilter(text(after)).where];
      for (const line of lines) if (passes(one, line)) expect(passes(other, line)).toBe(true);
    }),
    { numRuns: 400, seed: 3 },
  );
  expect(proven).toBeGreaterThan(20);
});

/** Whether a line passes, in the simplest way. */
function passes(node: Node, line: Readonly<Record<string, number>>): boolean {
  if (!isLeaf(node)) {
    const verdicts = childrenOf(node).map((child) => passes(child, line));
    return "and" in node ? verdicts.every(Boolean) : verdicts.some(Boolean);
  }
  const is = line[node.key] ?? -1;
  const values = [node.value].flat().map(Number);
  if (node.operator === "eq" || node.operator === "in") return values.includes(is);
  if (node.operator === "!eq") return !values.includes(is);
  return node.operator === "lt" ? is < (values[0] ?? 0) : is >= (values[0] ?? 0);
}
