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
  return "filter" in one && "filter" in other && new Proof().implies(one.filter.where, other.filter.where);
}

/**
 * Compares two filters. Caches the result for each pair of parts, because nested groups compare the same pairs again
 * and again.
 */
class Proof {
  readonly #known = new Map<Node, Map<Node, boolean>>();

  implies(before: Node, after: Node): boolean {
    const row = this.#known.get(before) ?? new Map<Node, boolean>();
    this.#known.set(before, row);
    const known = row.get(after) ?? this.#decide(before, after);
    row.set(after, known);
    return known;
  }

  #decide(before: Node, after: Node): boolean {
    if (isLeaf(before) && isLeaf(after)) return leafImplies(before, after);
    // Splitting an "or" in `before`, or an "and" in `after`, first never loses a proof.
    if (!isLeaf(before) && "or" in before) return before.or.every((child) => this.implies(child, after));
    if (!isLeaf(after) && "and" in after) return after.and.every((child) => this.implies(before, child));
    return (
      (!isLeaf(before) && childrenOf(before).some((child) => this.implies(child, after))) ||
      (!isLeaf(after) && childrenOf(after).some((child) => this.implies(before, child)))
    );
  }
}

function leafImplies(before: Leaf, after: Leaf): boolean {
  if (before.key !== after.key) return false;
  if (leafKey(before) === leafKey(after)) return true;
  const [was, is] = [before.operator, after.operator];
  const [old, now] = [valuesOf(before), valuesOf(after)];
  if (was === "eq" || was === "in") {
    if (is === "eq" || is === "in") return old.every((value) => now.includes(value));
    if (is === "!eq" || is === "!in")
      return !old.some((value) => now.some((other) => mayEqual(value, other)));
  }
  if ((was === "!eq" || was === "!in") && (is === "!eq" || is === "!in"))
    return now.every((value) => old.includes(value));
  return boundsImply(before, after) || affixesImply(before, after);
}

const leafKey = ({ operator, value }: Leaf): string => JSON.stringify([operator, value]);

const valuesOf = ({ value }: Leaf): readonly string[] =>
  typeof value === "string" ? [value] : value.map(String);

/** Whether two values may be equal. In a numeric field, 5 equals 5.0. */
const mayEqual = (a: string, b: string): boolean => a === b || Number(a) === Number(b);

/** Whether one bound implies the other. For example, a value that passes `gt 10` also passes `geq 5`. */
function boundsImply(before: Leaf, after: Leaf): boolean {
  const [old, now] = [Number(before.value), Number(after.value)];
  if (Array.isArray(before.value) || Array.isArray(after.value) || Number.isNaN(old) || Number.isNaN(now))
    return false;
  const pair = `${before.operator} ${after.operator}`;
  if (["lt lt", "leq leq", "lt leq"].includes(pair)) return old <= now;
  if (["gt gt", "geq geq", "gt geq"].includes(pair)) return old >= now;
  if (pair === "leq lt") return old < now;
  return pair === "geq gt" && old > now;
}

/**
 * Whether one string test implies the other. For example, a value that passes `startsWith "/api/v1"` also passes
 * `startsWith "/api"`.
 */
function affixesImply(before: Leaf, after: Leaf): boolean {
  const [old, now] = [before.value, after.value];
  if (typeof old !== "string" || typeof now !== "string") return false;
  switch (`${before.operator} ${after.operator}`) {
    case "startsWith startsWith":
      return old.startsWith(now);
    case "endsWith endsWith":
      return old.endsWith(now);
    case "startsWith contains":
    case "endsWith contains":
      return old.includes(now);
    case "!startsWith !startsWith":
      return now.startsWith(old);
    case "!endsWith !endsWith":
      return now.endsWith(old);
    default:
      return false;
  }
}
