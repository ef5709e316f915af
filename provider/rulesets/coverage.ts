import { decide } from "../rules-language/equivalence";

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
  const fields = new Map([
    ["cf.zone.name", name],
    ["cf.zone.plan", PLANS.get(plan ?? "")],
  ]);
  return decide(expression, (comparison) => {
    const [, field = "", operator, value] = /^(cf\.zone\.\w+) (eq|ne) "(.*)"$/.exec(comparison) ?? [];
    const known = fields.get(field);
    return known === undefined ? undefined : (known === value) === (operator === "eq");
  });
}
