import { MANAGED_RULES } from "../limits";
import type { Owasp } from "./declared";
import type { CategoryOverride, ManagedRuleset, RuleOverride } from "./wire";

/** The words of the OWASP core ruleset, and what they mean in overrides (seed 001, "Configuration rules"). */

const { MAX_PARANOIA_LEVEL, SCORE_THRESHOLDS } = MANAGED_RULES;

export const LEVELS = Array.from({ length: MAX_PARANOIA_LEVEL }, (_, index) => index + 1);

export const paranoiaTag = (level: number): string => `paranoia-level-${level}`;

/** The level that a tag stands for; undefined for any other tag. */
export function levelOf(tag: string): number | undefined {
  return LEVELS.find((level) => paranoiaTag(level) === tag);
}

/** Rule 1: to run level N, the tags of every level above N are switched off. */
export function levelsOff({ paranoiaLevel }: Pick<Owasp, "paranoiaLevel">): CategoryOverride[] {
  return LEVELS.filter((level) => level > paranoiaLevel).map((level) => ({
    tag: paranoiaTag(level),
    enabled: false,
  }));
}

/** Rule 2: threshold and action are an override of the ruleset's last rule; undefined where neither is declared. */
export function scoreOverride({ scoreThreshold, action }: Owasp): RuleOverride | undefined {
  if (scoreThreshold === undefined && action === undefined) return undefined;
  return {
    ...(action === undefined ? {} : { action }),
    ...(scoreThreshold === undefined ? {} : { scoreThreshold }),
  };
}

/** The rule that compares the score with the threshold: the last one (seed 001, "Configuration rules", 2). */
export function scoreRuleOf({ rules }: Pick<ManagedRuleset, "rules">): string | undefined {
  return rules.at(-1)?.id;
}

/** `25 (high)`, `30`. */
export function thresholdInWords(score: number): string {
  const name = Object.entries(SCORE_THRESHOLDS).find(([, value]) => value === score)?.[0];
  return name === undefined ? String(score) : `${score} (${name})`;
}

export function isNamedThreshold(score: number): boolean {
  return Object.values(SCORE_THRESHOLDS).some((value) => value === score);
}

/**
 * The highest level above which every level is switched off by an entry that says nothing else, and the entries that
 * are left when these are taken away.
 */
export function readLevel(categories: readonly CategoryOverride[]): {
  readonly paranoiaLevel: Owasp["paranoiaLevel"];
  readonly left: readonly CategoryOverride[];
} {
  const isOff = (level: number): boolean =>
    categories.some(
      ({ tag, enabled, ...more }) =>
        tag === paranoiaTag(level) && enabled === false && Object.keys(more).length === 0,
    );
  let top = MAX_PARANOIA_LEVEL as number;
  while (top > 1 && isOff(top)) top -= 1;
  const left = categories.filter(({ tag }) => (levelOf(tag) ?? 0) <= top);
  return { paranoiaLevel: top as Owasp["paranoiaLevel"], left };
}
