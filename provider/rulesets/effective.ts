import { z } from "zod";
import { omitAbsent, type JsonObject } from "../basics/json";
import { pluralize } from "../basics/words";
import type { DeclaredOverrides } from "./arguments";
import { levelsOff, scoreRuleOf } from "./overrides";
import type { ManagedRule, ManagedRuleset, Overrides } from "./wire";

/** Computes a deployment's effect on a managed ruleset: rule by rule, and as the preview shows it. */

/** What determined a rule's effect: the ruleset's default, or an override of the whole ruleset, a tag or the rule. */
export type DecidedBy = "default" | "ruleset" | `category ${string}` | "rule";

export interface EffectiveRule {
  readonly id: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly enabled: boolean;
  readonly action: string;
  readonly scoreThreshold?: number;
  /** The rule's default state and action, without overrides. */
  readonly byDefault: { readonly enabled: boolean; readonly action: string };
  readonly decided: { readonly enabled: DecidedBy; readonly action: DecidedBy };
}

/**
 * Returns each rule with its overrides applied. A rule's own override takes precedence over those of its tags,
 * which take precedence over an override of the whole ruleset. Among tags, the last one that sets a property wins.
 */
export function effectiveRules(
  { rules }: Pick<ManagedRuleset, "rules">,
  overrides: Overrides,
): EffectiveRule[] {
  return rules.map((rule) => {
    let enabled: readonly [boolean, DecidedBy] = [rule.enabled, "default"];
    let action: readonly [string, DecidedBy] = [rule.action, "default"];
    const own = overrides.rules[rule.id];
    const applying: (readonly [{ readonly enabled?: boolean; readonly action?: string }, DecidedBy])[] = [
      [overrides, "ruleset"],
      ...overrides.categories
        .filter(({ tag }) => rule.tags.includes(tag))
        .map((entry) => [entry, `category ${entry.tag}`] as const),
      ...(own === undefined ? [] : [[own, "rule"] as const]),
    ];
    for (const [override, decider] of applying) {
      if (override.enabled !== undefined) enabled = [override.enabled, decider];
      if (override.action !== undefined && acceptsAction(rule, override.action))
        action = [override.action, decider];
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

/**
 * Whether the ruleset can act on a request, apart from rules that are skipped. A ruleset that scores requests needs
 * both the rule that compares the score and at least one rule that adds to it.
 */
export function canAct(rules: readonly EffectiveRule[], skipped: readonly unknown[] = []): boolean {
  const compares = ({ scoreThreshold }: EffectiveRule): boolean => scoreThreshold !== undefined;
  const on = rules.filter(({ id, enabled }) => enabled && !skipped.includes(id));
  return on.some((rule) => !compares(rule)) && (!rules.some(compares) || on.some(compares));
}

/**
 * Whether an override can give the rule this action. If Cloudflare doesn't list a rule's allowed actions, every rule
 * accepts it except those that only add to the score.
 */
export function acceptsAction({ action, allowedActions }: ManagedRule, override: string): boolean {
  return allowedActions === undefined ? action !== "score" : allowedActions.includes(override);
}

/** Rules that two categories override differently. The later category wins. */
export interface Conflict {
  readonly tags: readonly [string, string];
  readonly winner: string;
  readonly member: "enabled" | "action";
  readonly rules: number;
}

/** Returns conflicts between the categories, in the categories' order. */
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
            (member === "enabled" || acceptsAction(rule, String(won))),
        );
        return decided.length === 0
          ? []
          : [{ tags: [loser.tag, winner.tag], winner: winner.tag, member, rules: decided.length }];
      }),
    ),
  );
}

/** The resulting configuration of a deployment, as the preview shows it. */
export interface RulesetExpansion {
  /** The managed ruleset. */
  readonly ruleset: { readonly id: string; readonly name: string };
  /** The deployed version: a number, or `latest`. */
  readonly version: string;
  /** The number of the latest version. Absent if a version is pinned. */
  readonly latest?: string;
  /** The declared paranoia level. */
  readonly paranoiaLevel?: number;
  /** The tags of the paranoia levels that the declared one turns off. */
  readonly levelsOff?: readonly string[];
  /** The score threshold. Present only for a ruleset that scores requests. */
  readonly scoreThreshold?: number;
  /**
   * What a ruleset that scores requests does at the threshold. For other rulesets, the action that overrides all rules.
   */
  readonly action?: string;
  /** How many of the rules are on and off. */
  readonly rules: RuleCounts;
  /** How many rules the deployment turns on and off, compared with the ruleset's defaults. */
  readonly switched: RuleCounts;
  /** Rules that are on with an action other than their default: `12 rules block → log`. Absent if there are none. */
  readonly otherActions?: string;
  /** Rules that two categories override differently: how many, and which category wins. */
  readonly conflicts?: readonly string[];
  /**
   * The rules that the program refers to by name, each with its ID, description and default:
   * `"920272" is rule 3f5a… ("920272: Invalid character in request"): score, on by default`. Absent if there are none.
   */
  readonly rulesByName?: readonly string[];
}

/** How many rules are on and off. */
export interface RuleCounts {
  readonly on: number;
  readonly off: number;
}

/** The arguments that decide what a deployment's rules do. */
export const OVERRIDING = [
  "ruleset",
  "version",
  "owasp",
  "categories",
  "rules",
  "action",
  "allRulesEnabled",
] as const;

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
      `${pluralize(rules, "rule")} tagged both ${JSON.stringify(one)} and ${JSON.stringify(other)}: ${JSON.stringify(winner)} decides ${rules === 1 ? (member === "enabled" ? "whether it's on" : "its action") : member === "enabled" ? "whether they're on" : "their action"}`,
  );
  return omitAbsent({
    ruleset: { id: managed.id, name: managed.name },
    version,
    latest: version === "latest" ? managed.version : undefined,
    paranoiaLevel: owasp?.paranoiaLevel,
    levelsOff: owasp && levelsOff(owasp).map(({ tag }) => tag),
    scoreThreshold: score?.scoreThreshold,
    action: score?.scoreThreshold === undefined ? action : score.action,
    rules: { on, off: effective.length - on },
    switched: { on: switchedOn, off: switchedOff },
    otherActions: otherActions(effective),
    conflicts: conflicts.length === 0 ? undefined : conflicts,
  });
}

function otherActions(effective: readonly EffectiveRule[]): string | undefined {
  const kinds = effective
    .filter(({ enabled, action, byDefault }) => enabled && action !== byDefault.action)
    .map(({ action, byDefault }) => `${byDefault.action} → ${action}`);
  if (kinds.length === 0) return undefined;
  return countByKind(kinds)
    .map(([kind, count]) => `${pluralize(count, "rule")} ${kind}`)
    .join(", ");
}

/** Counts how often each kind occurs, in the order of first occurrence. */
export function countByKind(kinds: readonly string[]): readonly (readonly [kind: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts];
}

const lines = z.array(z.string());
const counts = z.object({ on: z.number(), off: z.number() });
const EXPANSION = {
  ruleset: z.object({ id: z.string(), name: z.string() }),
  version: z.string(),
  latest: z.string(),
  paranoiaLevel: z.number(),
  levelsOff: lines,
  scoreThreshold: z.number(),
  action: z.string(),
  rules: counts,
  switched: counts,
  otherActions: z.string(),
  conflicts: lines,
  rulesByName: lines,
} satisfies Readonly<Record<keyof RulesetExpansion, z.ZodType>>;

/** Returns what a preview recorded about a deployment. Members that a plan hides are missing, or all of them. */
export function expansionIn({ expansion }: JsonObject): Partial<RulesetExpansion> {
  const recorded = z.record(z.string(), z.unknown()).safeParse(expansion).data ?? {};
  const known = Object.entries(EXPANSION).flatMap(([name, schema]) => {
    const { data } = schema.safeParse(recorded[name]);
    return data === undefined ? [] : [[name, data] as const];
  });
  return Object.fromEntries(known);
}
