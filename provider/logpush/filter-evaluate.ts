import { isLeaf, type CheckedFilter, type Leaf, type Node } from "./filter-model";
import { isTime, numberIn, timeIn } from "./filter-values";
import { own, type Bag } from "../runtime/values";

/**
 * Whether a filter lets a log line through (seed 002, "Filter"). A field that the line does not have, or that holds
 * something a comparison cannot use, fails the comparison, and so passes its negation.
 */
export function passes({ where }: CheckedFilter, line: Bag): boolean {
  return holds(where, line);
}

function holds(node: Node, line: Bag): boolean {
  if (isLeaf(node)) {
    const negated = node.operator.startsWith("!");
    return relates(node, own(line, node.key)) !== negated;
  }
  return "and" in node
    ? node.and.every((each) => holds(each, line))
    : node.or.some((each) => holds(each, line));
}

/** The comparison without its negation. */
function relates({ operator, value }: Leaf, found: unknown): boolean {
  const values = typeof value === "string" ? [value] : value;
  return values.some((wanted) => {
    switch (operator) {
      case "eq":
      case "!eq":
      case "in":
      case "!in":
        return equal(found, wanted);
      case "lt":
        return ordered(found, wanted, (a, b) => a < b);
      case "leq":
        return ordered(found, wanted, (a, b) => a <= b);
      case "gt":
        return ordered(found, wanted, (a, b) => a > b);
      case "geq":
        return ordered(found, wanted, (a, b) => a >= b);
      case "startsWith":
      case "!startsWith":
        return typeof found === "string" && found.startsWith(String(wanted));
      case "endsWith":
      case "!endsWith":
        return typeof found === "string" && found.endsWith(String(wanted));
      case "contains":
      case "!contains":
        return Array.isArray(found)
          ? found.some((element) => equal(element, wanted))
          : typeof found === "string" && found.includes(String(wanted));
    }
  });
}

function equal(found: unknown, wanted: string | number): boolean {
  if (typeof found === "number") return found === numberIn(wanted);
  return (typeof found === "string" || typeof found === "boolean") && String(found) === String(wanted);
}

function ordered(
  found: unknown,
  wanted: string | number,
  holdsFor: (a: number, b: number) => boolean,
): boolean {
  const pair = comparable(found, wanted);
  return pair !== undefined && holdsFor(...pair);
}

/** Both as numbers, or both as times where either is written as one. */
function comparable(found: unknown, wanted: string | number): readonly [number, number] | undefined {
  if (typeof found !== "number" && typeof found !== "string") return undefined;
  const asTimes =
    (typeof found === "string" && isTime(found)) || (typeof wanted === "string" && isTime(wanted));
  if (!asTimes && typeof found === "string") return undefined; // A text has no order.
  const [a, b] = asTimes ? [timeIn(found), timeIn(wanted)] : [numberIn(found), numberIn(wanted)];
  return a === undefined || b === undefined ? undefined : [a, b];
}
