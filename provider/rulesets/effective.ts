import { omitAbsent } from "../runtime/members";
import { pluralize } from "../runtime/values";
import type { DeclaredOverrides } from "./arguments";
import { levelsOff, scoreRuleOf, thresholdInWords } from "./overrides";
import type { ManagedRule, ManagedRuleset, Overrides } from "./wire";

/** What a deployment makes of the rules of a managed ruleset: rule by rule, and as a reviewer sees it in the preview. */

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
 * the member, and any of them over one of the whole ruleset.
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
      ...omitAbsent({ scoreThreshold }),
      byDefault: { enabled: rule.enabled, action: rule.action },
      decided: { enabled: enabled[1], action: action[1] },
    };
  });
}

/** Rules that add to a score keep doing so; the others say what they take, where Cloudflare says it at all. */
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

/** What a declaration amounts to, in words and numbers, as a reviewer sees it in the preview. */
export interface RulesetExpansion {
  /** Name and id of the managed ruleset. */
  readonly ruleset: string;
  /** The version that is deployed; for `latest` also which one that is now. */
  readonly version: string;
  /** `2: paranoia-level-3 and paranoia-level-4 are off`. */
  readonly paranoiaLevel?: string;
  /** `25 (high)`. Only of a ruleset that scores. */
  readonly scoreThreshold?: string;
  /** What a ruleset that scores does above the threshold, or what all rules were told to do. */
  readonly action?: string;
  /** Rules of the ruleset, and how many of them are on and off. */
  readonly rules: string;
  /** Rules that this declaration switches on and off against their defaults. */
  readonly switched: string;
  /** Rules that are on and do something else than by default: `12 rules block → log`. Absent where there are none. */
  readonly otherActions?: string;
  /** Where two categories decide the same rules differently: how many, and which of them wins. */
  readonly conflicts?: readonly string[];
  /** What changes against what runs now. Absent where nothing does, or where the preview could not ask Cloudflare. */
  readonly compared?: ComparedRules;
}

/** Lines such as `12 rules block → log`. */
export interface ComparedRules {
  /** What protects less, or may. */
  readonly weaker: readonly string[];
  readonly stronger: readonly string[];
  /** Where the rule moves: what skips it there, and what its exceptions reach. Absent where that can't be told. */
  readonly moved?: readonly string[];
}

export function expand(
  managed: ManagedRuleset,
  declared: DeclaredOverrides & { readonly version?: string | undefined },
  overrides: Overrides,
): RulesetExpansion {
  const effective = effectiveRules(managed, overrides);
  const count = (wanted: (rule: EffectiveRule) => boolean): number => effective.filter(wanted).length;
  const on = count(({ enabled }) => enabled);
  const switchedOn = count(({ enabled, byDefault }) => enabled && !byDefault.enabled);
  const switchedOff = count(({ enabled, byDefault }) => !enabled && byDefault.enabled);
  const score = effective.find(({ id }) => id === scoreRuleOf(managed));
  const { version = "latest", owasp, action } = declared;
  const conflicts = conflictsOf(managed, overrides).map(
    ({ tags: [one, other], winner, member, rules }) =>
      `${pluralize(rules, "rule")} with both tags ${JSON.stringify(one)} and ${JSON.stringify(other)}: ${member} is decided by ${JSON.stringify(winner)}`,
  );
  return omitAbsent({
    ruleset: `${managed.name} (${managed.id})`,
    version: version === "latest" ? `latest, now ${managed.version}` : version,
    paranoiaLevel: owasp && levelInWords(owasp),
    scoreThreshold: score?.scoreThreshold === undefined ? undefined : thresholdInWords(score.scoreThreshold),
    action: score?.scoreThreshold === undefined ? action : score.action,
    rules: `${effective.length}: ${on} on, ${effective.length - on} off`,
    switched: `${switchedOn} on, ${switchedOff} off`,
    otherActions: otherActions(effective),
    conflicts: conflicts.length === 0 ? undefined : conflicts,
  });
}

function otherActions(effective: readonly EffectiveRule[]): string | undefined {
  const kinds = effective
    .filter(({ enabled, action, byDefault }) => enabled && action !== byDefault.action)
    .map(({ action, byDefault }) => `${byDefault.action} → ${action}`);
  if (kinds.length === 0) return undefined;
  return countedByKind(kinds)
    .map(([kind, count]) => `${pluralize(count, "rule")} ${kind}`)
    .join(", ");
}

/** How often each occurs, in the order in which they come up. */
export function countedByKind(kinds: readonly string[]): readonly (readonly [kind: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts];
}

function levelInWords(owasp: NonNullable<DeclaredOverrides["owasp"]>): string {
  const off = levelsOff(owasp).map(({ tag }) => tag);
  const last = off.pop();
  if (last === undefined) return `${owasp.paranoiaLevel}: no level is off`;
  return `${owasp.paranoiaLevel}: ${off.length === 0 ? `${last} is` : `${off.join(", ")} and ${last} are`} off`;
}
