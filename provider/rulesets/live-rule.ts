import { ApiError } from "../api/errors";
import type { Context } from "../runtime/lifecycle";
import type { DeclaredOverrides, Position } from "./arguments";
import { tagsOf, type Computed } from "./deployment";
import { readExceptions, type ExceptionOwner, type LiveException } from "./exceptions";
import { findManagedRuleset, UnknownRulesetError } from "./managed";
import { byRuleId, byRuleName, type RuleIds } from "./rule-names";
import { decompileOverrides, scoreRuleOf, sharedTagsOf, type SharedTags } from "./overrides";
import { positionOnWrongSide } from "./position";
import { incomparable } from "./version-changes";
import type { EntryPoint, ManagedRuleset, ZoneRule } from "./wire";

/** Converts an existing rule to arguments, and finds the ruleset that it executes. */

/** The drift of a rule that someone dragged away from its exceptions. An update moves the exceptions. */
export const EXCEPTIONS_APART = "the exceptions aren't all directly in front of the rule";

/** What a comparison needs to know about the ruleset. */
export interface RulesetFacts {
  readonly scoreRule?: string | undefined;
  readonly sharedTagsAmong: (tags: readonly string[]) => SharedTags;
}

export function factsOf(managed: ManagedRuleset): RulesetFacts {
  return { scoreRule: scoreRuleOf(managed), sharedTagsAmong: (tags) => sharedTagsOf(managed, tags) };
}

/**
 * Returns what a refresh records about the ruleset. Keeps the recorded facts if the ruleset can't be read or compared,
 * and the recorded score rule if the rule now executes another ruleset.
 */
export function refreshedFacts(
  known: Computed["known"],
  managed: ManagedRuleset | undefined,
  { isOtherRuleset }: { readonly isOtherRuleset: boolean },
): RulesetFacts {
  const { scoreRule, sharedTagsAmong }: RulesetFacts =
    managed === undefined || incomparable(managed) !== undefined
      ? { sharedTagsAmong: () => known.sharedTags }
      : factsOf(managed);
  return { sharedTagsAmong, scoreRule: isOtherRuleset ? known.scoreRule : (scoreRule ?? known.scoreRule) };
}

/** Returns the ruleset that the rule executes now. Undefined if it can't be read; a refresh continues without it. */
export async function readDeployedRuleset(
  ctx: Context,
  accountId: string,
  { deploys }: ZoneRule,
): Promise<ManagedRuleset | undefined> {
  if (deploys === undefined) return undefined;
  try {
    return await findManagedRuleset(ctx, accountId, { id: deploys.rulesetId }, deploys.version);
  } catch (error) {
    if (error instanceof ApiError || error instanceof UnknownRulesetError) return undefined;
    throw error;
  }
}

interface Declared extends DeclaredOverrides {
  /** The IDs of the rules that are declared by name. */
  readonly ruleIds?: RuleIds | undefined;
  readonly description?: string | undefined;
  readonly matchedData?: unknown;
  readonly position?: Position | undefined;
}

/** The rule's arguments. A description or public key that isn't declared is left out. */
export interface LiveRule extends DeclaredOverrides {
  readonly expression: string;
  readonly description: string | undefined;
  readonly enabled: boolean;
  readonly exceptions: readonly LiveException[] | undefined;
  readonly matchedData: { readonly publicKey: string } | undefined;
  readonly position: Position | undefined;
  /** Describes changes that no argument can express. */
  readonly drift: string | undefined;
}

export function readLiveRule(
  declared: Declared,
  { scoreRule, sharedTagsAmong }: RulesetFacts,
  found: EntryPoint,
  rule: ZoneRule,
  own: ExceptionOwner,
): LiveRule {
  const { deploys } = rule;
  const ids = declared.ruleIds?.[deploys?.rulesetId ?? ""];
  const liveTags = (deploys?.overrides.categories ?? []).map(({ tag }) => tag);
  const { declared: overrides, inexpressible } =
    deploys === undefined
      ? { declared, inexpressible: [`the rule's action is ${JSON.stringify(rule.action)}`] }
      : decompileOverrides(
          deploys.overrides,
          { ...declared, rules: byRuleId(declared.rules, ids) },
          scoreRule,
          sharedTagsAmong([...tagsOf(declared), ...liveTags]),
        );
  const { owasp, categories, rules, action, allRulesEnabled } = overrides;
  const publicKey = declared.matchedData === undefined ? undefined : deploys?.publicKey;
  const { exceptions, hasGap } = readExceptions(found, rule, own);
  const drift = [...inexpressible, ...(hasGap ? [EXCEPTIONS_APART] : [])];
  return {
    owasp,
    categories,
    rules: deploys === undefined ? rules : byRuleName(rules, declared.rules, ids),
    action,
    allRulesEnabled,
    matchedData: publicKey === undefined ? undefined : { publicKey },
    expression: rule.expression,
    description: declared.description === undefined ? undefined : rule.description,
    enabled: rule.enabled,
    exceptions: exceptions.length === 0 ? undefined : exceptions,
    position: positionOnWrongSide(declared.position, found, rule) ?? declared.position,
    drift: drift.length === 0 ? undefined : drift.join("; "),
  };
}
