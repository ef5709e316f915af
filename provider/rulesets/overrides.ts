import { MANAGED_RULES } from "../limits/index";
import { omitAbsent, canonicalJson, omit, pick, sameJson } from "../basics/json";
import type { DeclaredOverrides, Owasp, Rules } from "./arguments";
import type { CategoryOverride, ManagedRuleset, Overrides, RuleOverride } from "./wire";

/** Converts between declarations and a rule's overrides, and compares overrides. */

const { MAX_PARANOIA_LEVEL, SCORE_THRESHOLDS } = MANAGED_RULES;

export const LEVELS = Array.from({ length: MAX_PARANOIA_LEVEL }, (_, index) => index + 1);

export const paranoiaTag = (level: number): string => `paranoia-level-${level}`;

/** Returns the level of a paranoia tag. Undefined for any other tag. */
export function levelOf(tag: string): number | undefined {
  return LEVELS.find((level) => paranoiaTag(level) === tag);
}

/** Returns the tags to turn off for a paranoia level: those of all higher levels. */
export function levelsOff({ paranoiaLevel }: Pick<Owasp, "paranoiaLevel">): CategoryOverride[] {
  return LEVELS.filter((level) => level > paranoiaLevel).map((level) => ({
    tag: paranoiaTag(level),
    enabled: false,
  }));
}

/**
 * Returns the rule that compares the score with the threshold: the last rule of a ruleset that scores requests. The API
 * may leave out the threshold, but not the paranoia levels.
 */
export function scoreRuleOf({ rules }: Pick<ManagedRuleset, "rules">): string | undefined {
  const isScoring = rules.some(
    ({ tags, scoreThreshold }) => scoreThreshold !== undefined || tags.some((tag) => levelOf(tag)),
  );
  return isScoring ? rules.at(-1)?.id : undefined;
}

/** Returns the name of a score threshold, such as `low`. Undefined if the score has no name. */
export function thresholdName(score: unknown): string | undefined {
  return Object.entries(SCORE_THRESHOLDS).find(([, value]) => value === score)?.[0];
}

/** Formats a score threshold, such as `25 (high)` or `30`. */
export function thresholdLabel(score: number): string {
  const name = thresholdName(score);
  return name === undefined ? String(score) : `${score} (${name})`;
}

/** Pairs of tags that occur on the same rule. If both tags are overridden, the later override applies to that rule. */
export type SharedTags = readonly (readonly [string, string])[];

/** Returns the pairs of tags that have a rule in common. Each pair is in alphabetical order. */
export function sharedTagsOf({ rules }: Pick<ManagedRuleset, "rules">, tags: readonly string[]): SharedTags {
  const wanted = [...new Set(tags)].sort();
  return wanted.flatMap((one, index) =>
    wanted
      .slice(index + 1)
      .filter((other) => rules.some((rule) => rule.tags.includes(one) && rule.tags.includes(other)))
      .map((other): readonly [string, string] => [one, other]),
  );
}

/**
 * Converts a declaration to overrides. The levels that `owasp` turns off come after the declared categories; a category
 * that turns off the same level isn't sent twice. `validate` has already rejected contradictions.
 */
export function compileOverrides(
  { owasp, categories = [], rules = {}, action, allRulesEnabled: enabled }: DeclaredOverrides,
  scoreRule: string | undefined,
): Overrides {
  const off = owasp === undefined ? [] : levelsOff(owasp);
  const own = categories.filter(({ tag }) => !off.some((level) => level.tag === tag));
  const score = pick({ ...owasp }, ["action", "scoreThreshold"]);
  const isScored = scoreRule !== undefined && Object.keys(score).length > 0;
  return {
    ...omitAbsent({ action, enabled }),
    categories: [...own, ...off],
    rules: isScored ? { ...rules, [scoreRule]: { ...rules[scoreRule], ...score } } : rules,
  };
}

/**
 * Whether two sets of overrides have the same effect. The order of rules doesn't matter; the order of categories
 * matters only if they share rules.
 */
export function sameOverrides(a: Overrides, b: Overrides, shared: SharedTags): boolean {
  const rest = (overrides: Overrides): object => omit({ ...overrides }, ["categories"]);
  return sameJson(rest(a), rest(b)) && sameCategories(a.categories, b.categories, shared);
}

/** Whether two orders of the same entries have the same effect on every rule. */
export function sameCategories(
  a: readonly CategoryOverride[],
  b: readonly CategoryOverride[],
  shared: SharedTags,
): boolean {
  const asSet = (entries: readonly CategoryOverride[]): string[] => entries.map(canonicalJson).sort();
  if (!sameJson(asSet(a), asSet(b))) return false;
  const isFirst = (entries: readonly CategoryOverride[], one: string, other: string): boolean =>
    entries.findIndex(({ tag }) => tag === one) < entries.findIndex(({ tag }) => tag === other);
  const has = (tag: string): boolean => a.some((entry) => entry.tag === tag);
  // Someone else's overrides may contain a tag twice.
  if (new Set(a.map(({ tag }) => tag)).size < a.length) return sameJson(a, b);
  return shared.every(
    ([one, other]) => !has(one) || !has(other) || isFirst(a, one, other) === isFirst(b, one, other),
  );
}

/** Returns the paranoia level that the categories amount to, and the categories that aren't part of it. */
export function readLevel(categories: readonly CategoryOverride[]): {
  readonly paranoiaLevel: Owasp["paranoiaLevel"];
  readonly left: readonly CategoryOverride[];
  /** Whether a lower level is off, too, which no paranoia level can express. */
  readonly hasGap: boolean;
} {
  const isOff = (level: number): boolean =>
    categories.some(
      ({ tag, enabled, ...more }) =>
        tag === paranoiaTag(level) && enabled === false && Object.keys(more).length === 0,
    );
  let top = MAX_PARANOIA_LEVEL as number;
  while (top > 1 && isOff(top)) top -= 1;
  const left = categories.filter(({ tag }) => (levelOf(tag) ?? 0) <= top);
  const hasGap = left.some(({ tag, enabled }) => levelOf(tag) !== undefined && enabled === false);
  return { paranoiaLevel: top as Owasp["paranoiaLevel"], left, hasGap };
}

/**
 * Converts overrides to a declaration, in the form of `declared` where that has the same effect. Describes in words
 * anything that no argument can express.
 */
export function decompileOverrides(
  live: Overrides,
  declared: DeclaredOverrides,
  scoreRule: string | undefined,
  shared: SharedTags,
): { readonly declared: DeclaredOverrides; readonly inexpressible: readonly string[] } {
  const wanted = compileOverrides(declared, scoreRule);
  const inexpressible = inexpressibleIn(live);
  let { categories } = live;
  let rules: Record<string, RuleOverride> = { ...live.rules };
  const { paranoiaLevel, left, hasGap } = readLevel(categories);
  let owasp = hasGap ? undefined : declared.owasp;

  if (owasp !== undefined) {
    // Declared entries that repeat what the level implies are kept.
    const repeated = (declared.categories ?? []).filter(({ tag }) => (levelOf(tag) ?? 0) > paranoiaLevel);
    const consumed = categories.filter((entry) => !left.includes(entry));
    const areLast = sameCategories([...left, ...consumed], categories, shared);
    if (!areLast) inexpressible.push("the overrides that turn off paranoia levels don't come last");
    categories = [...left, ...repeated];
    owasp = { paranoiaLevel };
    const score = scoreRule === undefined ? undefined : rules[scoreRule];
    if (scoreRule !== undefined && score !== undefined) {
      const split = splitScore(score, declared, scoreRule);
      owasp = { paranoiaLevel, ...split.owasp };
      rules = { ...(omit(rules, [scoreRule]) as Rules), ...split.rules };
    }
  }
  if (sameCategories(live.categories, wanted.categories, shared)) categories = declared.categories ?? [];
  const entries = Object.entries(rules).map(([id, entry]) => [id, toArgument(entry)] as const);
  const found = omitAbsent({
    owasp,
    categories: categories.length === 0 ? undefined : categories.map(toArgument),
    rules: entries.length === 0 ? undefined : Object.fromEntries(entries),
    action: live.action,
    allRulesEnabled: live.enabled,
  });
  return { declared: found as DeclaredOverrides, inexpressible }; // An unknown action shows as drift in the next preview.
}

/** Separates the last rule's threshold and action, which belong to `owasp` unless only `rules` declares them. */
function splitScore(
  score: RuleOverride,
  { owasp, rules }: DeclaredOverrides,
  scoreRule: string,
): { readonly owasp: Partial<Owasp>; readonly rules: Rules } {
  const inRules = rules?.[scoreRule] ?? {};
  const members = ["scoreThreshold", "action"] as const;
  const ofRules = members.filter((member) => inRules[member] !== undefined);
  const ofOwasp = members.filter((member) => owasp?.[member] !== undefined || !ofRules.includes(member));
  const onlyOwasp = members.filter((member) => !ofRules.includes(member));
  const own = omit({ ...score }, onlyOwasp);
  return {
    owasp: pick({ ...score }, ofOwasp),
    rules: Object.keys(own).length === 0 ? {} : { [scoreRule]: own },
  };
}

/** Describes in words the parts of the overrides that no argument can express. */
function inexpressibleIn({ extra, categories, rules }: Overrides): string[] {
  const entries = [
    ...categories.map(({ tag, extra: more }) => [`category ${JSON.stringify(tag)}`, more] as const),
    ...Object.entries(rules).map(([id, { extra: more }]) => [`rule ${id}`, more] as const),
  ];
  return [
    ...(extra === undefined ? [] : [`the overrides also set ${Object.keys(extra).join(", ")}`]),
    ...entries.flatMap(([what, more]) =>
      more === undefined ? [] : [`the override of ${what} also sets ${Object.keys(more).join(", ")}`],
    ),
  ];
}

/** Converts an override to an entry of the argument. */
function toArgument(entry: CategoryOverride | RuleOverride): unknown {
  return omit({ ...entry }, ["extra"]);
}
