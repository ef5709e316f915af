import type { Context } from "../runtime/lifecycle";
import { canonicalExpression } from "../rules-language/equivalence";
import type { Declared, Prepared } from "./deployment";
import { isSameEntryPoint } from "./entry-point";
import { REF_PREFIX } from "./refs";
import type { EntryPoint, ZoneRule } from "./wire";

/**
 * Finds deployments that run the same ruleset for the same requests, among the zone's rules and the program's
 * resources.
 */

const meaningOf = (expression: string): string => canonicalExpression(expression) ?? expression;

/** Returns the zone's rules that execute the declared ruleset for the declared requests. */
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

/**
 * Returns rules that run the same ruleset for the same requests, and that another program created with this package.
 */
export function duplicatesOfOtherPrograms(
  declared: Declared,
  prepared: Prepared,
  found: EntryPoint | undefined,
): ZoneRule[] {
  return rulesRunningTheSame(declared, prepared, found).filter(
    ({ ref }) => ref.startsWith(REF_PREFIX) && ref !== declared.ref,
  );
}

/** Returns the program's deployments that have been checked so far, by entry point and ref. */
export function declaredDeployments(ctx: Context): Map<string, Declared> {
  return ctx.once("declared deployments", () => new Map<string, Declared>());
}

/** Finds another resource in the program that deploys the same ruleset, by name or by ID, for the same requests. */
export function duplicateInProgram(
  ctx: Context,
  args: Declared,
  { managed }: Prepared,
): Declared | undefined {
  return [...declaredDeployments(ctx).values()].find(
    ({ ref, ruleset, expression, ...where }) =>
      isSameEntryPoint(where, args) &&
      ref !== args.ref &&
      (ruleset.id === managed.id || ruleset.name === managed.name) &&
      meaningOf(expression) === meaningOf(args.expression),
  );
}
