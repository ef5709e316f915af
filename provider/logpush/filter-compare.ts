import { implies, type Formula } from "../rules-language/implication";
import { documentedTypes } from "./dataset-fields";
import { childrenOf, isLeaf, readFilter, type Leaf, type Node } from "./filter-read";
import { filterMeaning } from "./filter-text";

/**
 * Whether every line that passes the first filter certainly also passes the second. Without a filter, every line
 * passes. Returns false if it can't be sure.
 */
export function passesAtLeast(before: string | undefined, after: string | undefined): boolean {
  if (after === undefined || after === "" || filterMeaning(before) === filterMeaning(after)) return true;
  if (before === undefined || before === "") return false;
  const [one, other] = [readFilter(before), readFilter(after)];
  if (!("filter" in one && "filter" in other)) return false;
  const leaves = new Map<string, Comparison>();
  const [from, to] = [formulaOf(one.filter.where, leaves), formulaOf(other.filter.where, leaves)];
  return implies(from, to, (atom, entailed) => {
    const [a, b] = [leaves.get(atom), leaves.get(entailed)];
    return a !== undefined && b !== undefined && leafImplies(a, b);
  });
}

/** Converts a filter for comparison, and collects its comparisons by their atoms. A list becomes one per value. */
function formulaOf(node: Node, leaves: Map<string, Comparison>): Formula {
  if (!isLeaf(node)) {
    const of = childrenOf(node).map((child) => formulaOf(child, leaves));
    return "and" in node ? { and: of } : { or: of };
  }
  const { key, operator, value } = node;
  const atomOf = (single: Comparison): string => {
    const atom = JSON.stringify([key, single.operator, single.value]);
    leaves.set(atom, single);
    return atom;
  };
  if (typeof value === "string") return atomOf({ key, operator, value });
  const each = (one: "eq" | "!eq"): string[] =>
    value.map((item) => atomOf({ key, operator: one, value: String(item) }));
  return operator === "!in" ? { and: each("!eq") } : { or: each("eq") };
}

/** A comparison with one value. */
type Comparison = Leaf & { readonly value: string };

/** Whether a value that passes the first comparison certainly also passes the second. */
function leafImplies(before: Comparison, after: Comparison): boolean {
  if (before.key !== after.key) return false;
  // A text that starts with "/api/v1" also starts with "/api".
  if (before.operator === "startsWith" && after.operator === "startsWith")
    return before.value.startsWith(after.value);
  if (before.operator === "endsWith" && after.operator === "endsWith")
    return before.value.endsWith(after.value);
  return boundsImply(before, after);
}

/** Whether one bound implies the other. For example, a value that passes `gt 10` also passes `geq 5`. */
function boundsImply(before: Comparison, after: Comparison): boolean {
  const order = compareNumbers(before, after);
  if (order === undefined) return false;
  const pair = `${before.operator} ${after.operator}`;
  if (["lt lt", "leq leq", "lt leq"].includes(pair)) return order <= 0;
  if (["gt gt", "geq geq", "gt geq"].includes(pair)) return order >= 0;
  if (pair === "leq lt") return order < 0;
  return pair === "geq gt" && order > 0;
}

/** Matches a number in its plain notation. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/;

/** The difference between two numbers. Undefined if one isn't a number, or if they may be times in different units. */
function compareNumbers(a: Comparison, b: Comparison): number | undefined {
  if (!NUMBER.test(a.value) || !NUMBER.test(b.value)) return undefined;
  const [one, other] = [a, b].map(({ value }) => value.split(".")[0]?.length);
  // The number of digits says in which unit a time is.
  if (one !== other && mayBeTime(a)) return undefined;
  const areWhole = ![a.value, b.value].some((value) => value.includes("."));
  // A double can't hold every time in nanoseconds.
  return areWhole ? Number(BigInt(a.value) - BigInt(b.value)) : Number(a.value) - Number(b.value);
}

/** Whether a field may hold a time, whose unit depends on how the value is written. */
function mayBeTime({ key }: Comparison): boolean {
  const types = documentedTypes(key);
  return types.length === 0 || types.includes("int or string");
}
