import type { ManagedRule, ManagedRuleset, Overrides } from "./wire";

/** What a deployment makes of the rules of a managed ruleset. */

/** What decided: the ruleset's own default, an override of the whole ruleset, of a tag, or of the rule. */
export type Decider = "default" | "ruleset" | `category ${string}` | "rule";

export interface EffectiveRule {
  readonly id: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly enabled: boolean;
  readonly action: string;
  readonly scoreThreshold?: number;
  /** What it is without overrides. */
  readonly byDefault: { readonly enabled: boolean; readonly action: string };
  readonly decided: { readonly enabled: Decider; readonly action: Decider };
}

/**
 * Each rule as it works. An override of the rule wins over those of its tags, of these the last that says something of
 * the member, and any of them over one of the whole ruleset (facts 5.1).
 */
export function effectiveRules(
  { rules }: Pick<ManagedRuleset, "rules">,
  overrides: Overrides,
): EffectiveRule[] {
  return rules.map((rule) => {
    let enabled: readonly [boolean, Decider] = [rule.enabled, "default"];
    let action: readonly [string, Decider] = [rule.action, "default"];
    const own = overrides.rules[rule.id];
    const speaking: (readonly [{ readonly enabled?: boolean; readonly action?: string }, Decider])[] = [
      [overrides, "ruleset"],
      ...overrides.categories
        .filter(({ tag }) => rule.tags.includes(tag))
        .map((entry) => [entry, `category ${entry.tag}`] as const),
      ...(own === undefined ? [] : [[own, "rule"] as const]),
    ];
    for (const [override, decider] of speaking) {
      if (override.enabled !== undefined) enabled = [override.enabled, decider];
      if (override.action !== undefined && takes(rule, override.action)) action = [override.action, decider];
    }
    const scoreThreshold = own?.scoreThreshold ?? rule.scoreThreshold;
    return {
      id: rule.id,
      description: rule.description,
      tags: rule.tags,
      enabled: enabled[0],
      action: action[0],
      ...(scoreThreshold === undefined ? {} : { scoreThreshold }),
      byDefault: { enabled: rule.enabled, action: rule.action },
      decided: { enabled: enabled[1], action: action[1] },
    };
  });
}

/** Rules that add to a score keep doing so; the others say what they take, where the service says it at all. */
export function takes({ action, allowedActions }: ManagedRule, override: string): boolean {
  return allowedActions === undefined ? action !== "score" : allowedActions.includes(override);
}

/** Rules that two categories decide differently; the one that stands behind wins. */
export interface Conflict {
  readonly tags: readonly [string, string];
  readonly winner: string;
  readonly member: "enabled" | "action";
  readonly rules: number;
}

/** Where entries of different tags decide the same rule differently, in the order of the entries. */
export function conflictsOf({ rules }: Pick<ManagedRuleset, "rules">, overrides: Overrides): Conflict[] {
  const { categories } = overrides;
  return categories.flatMap((winner, index) =>
    categories.slice(0, index).flatMap((loser) =>
      (["enabled", "action"] as const).flatMap((member): Conflict[] => {
        const [won, lost] = [winner[member], loser[member]];
        if (won === undefined || lost === undefined || won === lost) return [];
        const stronger = categories.slice(index + 1).filter((entry) => entry[member] !== undefined);
        const decided = rules.filter(
          (rule) =>
            rule.tags.includes(winner.tag) &&
            rule.tags.includes(loser.tag) &&
            !stronger.some(({ tag }) => rule.tags.includes(tag)) &&
            overrides.rules[rule.id]?.[member] === undefined &&
            (member === "enabled" || takes(rule, String(won))),
        );
        return decided.length === 0
          ? []
          : [{ tags: [loser.tag, winner.tag], winner: winner.tag, member, rules: decided.length }];
      }),
    ),
  );
}
