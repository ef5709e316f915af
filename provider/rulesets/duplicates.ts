import type { Context } from "../runtime/lifecycle";
import { canonicalExpression } from "../rules-language/equivalence";
import { sameJson } from "../runtime/values";
import { REF_PREFIX, type Declared, type Prepared } from "./deployment";
import type { EntryPoint, ZoneRule } from "./wire";

/** Deployments of the same ruleset for the same requests: rules of the zone, and resources of the program. */

const meaningOf = (expression: string): string => canonicalExpression(expression) ?? expression;

/** Rules that execute this ruleset for these requests. If another one were added, the ruleset would run twice. */
export function rulesRunningTheSame(
  { expression }: Declared,
  { managed }: Prepared,
  found: EntryPoint | undefined,
): ZoneRule[] {
  const wanted = meaningOf(expression);
  return (found?.rules ?? []).filter(
    (rule) => rule.deploys?.rulesetId === managed.id && meaningOf(rule.expression) === wanted,
  );
}

/** Rules that another program created with this package and that run the same ruleset for the same requests. */
export function duplicatesOfOtherPrograms(
  declared: Declared,
  prepared: Prepared,
  found: EntryPoint | undefined,
): ZoneRule[] {
  return rulesRunningTheSame(declared, prepared, found).filter(
    ({ ref }) => ref.startsWith(REF_PREFIX) && ref !== declared.ref,
  );
}

/** Returns the program's deployments that have been checked so far, by zone and ref. */
export function declaredDeployments(ctx: Context): Map<string, Declared> {
  return ctx.shared("declared deployments", () => new Map<string, Declared>());
}

/**
 * Finds another resource of the program that deploys the same ruleset for the same requests, where one uses the
 * ruleset's name and the other its ID. The class finds resources that refer to the ruleset in the same way.
 */
export function duplicateUnderOtherName(
  ctx: Context,
  args: Declared,
  { managed }: Prepared,
): Declared | undefined {
  return [...declaredDeployments(ctx).values()].find(
    ({ zoneId, ref, ruleset, expression }) =>
      zoneId === args.zoneId &&
      ref !== args.ref &&
      !sameJson(ruleset, args.ruleset) &&
      (ruleset.id === managed.id || ruleset.name === managed.name) &&
      meaningOf(expression) === meaningOf(args.expression),
  );
}
