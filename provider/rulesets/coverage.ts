import { parseExpression } from "../rules-language/parse";
import type { Condition } from "../rules-language/tree";
import { canonicalExpression } from "../rules-language/equivalence";

/** Determines whether the expression of a rule covers a zone. */

/** What an expression may test about a zone. Undefined if it isn't known. */
export interface KnownZone {
  readonly name?: string | undefined;
  /** The plan: `free`, `pro`, `business` or `enterprise`. */
  readonly plan?: string | undefined;
}

/** The names of plans in expressions that use `cf.zone.plan`. */
const PLANS: ReadonlyMap<string, string> = new Map([
  ["free", "FREE"],
  ["pro", "PRO"],
  ["business", "BIZ"],
  ["enterprise", "ENT"],
]);

/**
 * Whether an expression matches all requests to a zone (true) or none of them (false). Undefined if that depends on the
 * request, or on unknown properties of the zone.
 */
export function matchesZone(expression: string, { name, plan }: KnownZone): boolean | undefined {
  const parsed = parseExpression(expression);
  if ("error" in parsed) return undefined;
  const fields = new Map([
    ["cf.zone.name", name],
    ["cf.zone.plan", PLANS.get(plan ?? "")],
  ]);
  const canonical = canonicalExpression(expression);
  if (canonical === "true" || canonical === "false") return canonical === "true";
  return decide(parsed.condition, fields);
}

type Fields = ReadonlyMap<string, string | undefined>;

function decide(condition: Condition, fields: Fields): boolean | undefined {
  switch (condition.kind) {
    case "constant":
      return condition.value;
    case "not":
      return negated(decide(condition.condition, fields));
    case "and":
    case "or":
    case "xor": {
      const parts = condition.conditions.map((each) => decide(each, fields));
      if (condition.kind === "xor")
        return parts.includes(undefined) ? undefined : parts.filter(Boolean).length % 2 === 1;
      const decisive = condition.kind === "or";
      if (parts.includes(decisive)) return decisive;
      return parts.includes(undefined) ? undefined : !decisive;
    }
    case "comparison":
      return compare(condition, fields);
    default:
      return undefined;
  }
}

function compare(
  { value, operator, operand }: Extract<Condition, { kind: "comparison" }>,
  fields: Fields,
): boolean | undefined {
  const known = value.kind === "field" ? fields.get(value.name) : undefined;
  if (known === undefined) return undefined;
  if (operator === "in" && operand.kind === "set")
    return operand.items.some((each) => each.kind === "literal" && each.value === known);
  if (operand.kind !== "literal") return undefined;
  if (operator === "eq") return operand.value === known;
  return operator === "ne" ? operand.value !== known : undefined;
}

const negated = (given: boolean | undefined): boolean | undefined =>
  given === undefined ? undefined : !given;
