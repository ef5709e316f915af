import type { DeclaredOverrides, Position } from "./arguments";
import { tagsOf } from "./deployment";
import { readExceptions, type ExceptionsOf, type FoundException } from "./exceptions";
import { decompileOverrides, scoreRuleOf, sharedTagsOf, type SharedTags } from "./overrides";
import { violated } from "./position";
import type { EntryPoint, ManagedRuleset, ZoneRule } from "./wire";

/** A rule as it is found, in the words of a declaration. */

/** What a comparison needs to know of the ruleset. */
export interface KnownRuleset {
  readonly scoreRule?: string | undefined;
  readonly sharedBy: (tags: readonly string[]) => SharedTags;
}

export function knownRuleset(managed: ManagedRuleset): KnownRuleset {
  return { scoreRule: scoreRuleOf(managed), sharedBy: (tags) => sharedTagsOf(managed, tags) };
}

interface Declared extends DeclaredOverrides {
  readonly description?: string | undefined;
  readonly position?: Position | undefined;
}

/** Arguments, undefined where the rule has none; what is not declared and stays as it is, is left alone. */
export interface FoundRule extends DeclaredOverrides {
  readonly expression: string;
  readonly description: string | undefined;
  readonly enabled: boolean;
  readonly exceptions: readonly FoundException[] | undefined;
  readonly position: Position | undefined;
  /** What no argument can say. */
  readonly drift: string | undefined;
}

/** @param own what the rule's exceptions are known by. */
export function foundRule(
  declared: Declared,
  { scoreRule, sharedBy }: KnownRuleset,
  found: EntryPoint,
  rule: ZoneRule,
  own: ExceptionsOf,
): FoundRule {
  const { deploys } = rule;
  const liveTags = (deploys?.overrides.categories ?? []).map(({ tag }) => tag);
  const { declared: overrides, unsaid } =
    deploys === undefined
      ? { declared, unsaid: [`its action is ${JSON.stringify(rule.action)}`] }
      : decompileOverrides(
          deploys.overrides,
          declared,
          scoreRule,
          sharedBy([...tagsOf(declared), ...liveTags]),
        );
  const { owasp, categories, rules, action } = overrides;
  const { exceptions, apart } = readExceptions(found, rule, own);
  const drift = [...unsaid, ...(apart ? ["the exceptions do not stand directly in front of it"] : [])];
  return {
    owasp,
    categories,
    rules,
    action,
    expression: rule.expression,
    description: declared.description === undefined ? undefined : rule.description,
    enabled: rule.enabled,
    exceptions: exceptions.length === 0 ? undefined : exceptions,
    position: violated(declared.position, found, rule) ?? declared.position,
    drift: drift.length === 0 ? undefined : drift.join("; "),
  };
}
