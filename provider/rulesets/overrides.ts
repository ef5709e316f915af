import { MANAGED_RULES } from "../limits";
import { omitAbsent } from "../runtime/members";
import { canonicalJson, omit, pick, sameJson } from "../runtime/values";
import type { DeclaredOverrides, Owasp, Rules } from "./arguments";
import type { CategoryOverride, ManagedRuleset, Overrides, RuleOverride } from "./wire";

/** From what is declared to the overrides of the rule, back, and whether two of them mean the same. */

const { MAX_PARANOIA_LEVEL, SCORE_THRESHOLDS } = MANAGED_RULES;

export const LEVELS = Array.from({ length: MAX_PARANOIA_LEVEL }, (_, index) => index + 1);

export const paranoiaTag = (level: number): string => `paranoia-level-${level}`;

/** The level that a tag stands for; undefined for any other tag. */
export function levelOf(tag: string): number | undefined {
  return LEVELS.find((level) => paranoiaTag(level) === tag);
}

/** To run level N, the tags of every level above N are switched off. */
export function levelsOff({ paranoiaLevel }: Pick<Owasp, "paranoiaLevel">): CategoryOverride[] {
  return LEVELS.filter((level) => level > paranoiaLevel).map((level) => ({
    tag: paranoiaTag(level),
    enabled: false,
  }));
}

/** The rule that compares the score with the threshold: the ruleset's last one. */
export function scoreRuleOf({ rules }: Pick<ManagedRuleset, "rules">): string | undefined {
  return rules.at(-1)?.id;
}

/** The name of a score threshold; undefined for any other score. */
export function thresholdName(score: unknown): string | undefined {
  return Object.entries(SCORE_THRESHOLDS).find(([, value]) => value === score)?.[0];
}

/** `25 (high)`, `30`. */
export function thresholdInWords(score: number): string {
  const name = thresholdName(score);
  return name === undefined ? String(score) : `${score} (${name})`;
}

/** Two tags that at least one rule carries both of: which of their entries comes last decides. */
export type SharedTags = readonly (readonly [string, string])[];

/** Pairs of these tags that share a rule of the ruleset, each in alphabetical order. */
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
 * The overrides that are meant. Categories stand as declared, the levels that `owasp` switches off behind them; where an
 * entry says the same of such a level, it is sent once. `judge` has refused what contradicts.
 */
export function compileOverrides(
  { owasp, categories = [], rules = {}, action }: DeclaredOverrides,
  scoreRule: string | undefined,
): Overrides {
  const off = owasp === undefined ? [] : levelsOff(owasp);
  const own = categories.filter(({ tag }) => !off.some((level) => level.tag === tag));
  const score = pick({ ...owasp }, ["action", "scoreThreshold"]);
  const isScored = scoreRule !== undefined && Object.keys(score).length > 0;
  return {
    ...(action === undefined ? {} : { action }),
    categories: [...own, ...off],
    rules: isScored ? { ...rules, [scoreRule]: { ...rules[scoreRule], ...score } } : rules,
  };
}

/** Whether both have the same effect, whatever the order of rules, and of categories where it decides nothing. */
export function sameOverrides(a: Overrides, b: Overrides, shared: SharedTags): boolean {
  const rest = (overrides: Overrides): object => omit({ ...overrides }, ["categories"]);
  return sameJson(rest(a), rest(b)) && sameCategories(a.categories, b.categories, shared);
}

/** Whether two orders of the same entries decide every rule alike. */
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
  // A tag twice is nothing we write: its entries are compared in their order.
  if (new Set(a.map(({ tag }) => tag)).size < a.length) return sameJson(a, b);
  return shared.every(
    ([one, other]) => !has(one) || !has(other) || isFirst(a, one, other) === isFirst(b, one, other),
  );
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

/**
 * What would have to be declared for these overrides, in the words of `declared` where they say it too. What no argument
 * can say is told in words.
 */
export function decompileOverrides(
  live: Overrides,
  declared: DeclaredOverrides,
  scoreRule: string | undefined,
  shared: SharedTags,
): { readonly declared: DeclaredOverrides; readonly unsaid: readonly string[] } {
  const wanted = compileOverrides(declared, scoreRule);
  const unsaid = unsaidIn(live);
  let { categories } = live;
  let rules: Record<string, RuleOverride> = { ...live.rules };
  let { owasp } = declared;

  if (owasp !== undefined) {
    const { paranoiaLevel, left } = readLevel(categories);
    // An entry that repeated what the level says is read back as one that does.
    const repeated = (declared.categories ?? []).filter(({ tag }) => (levelOf(tag) ?? 0) > paranoiaLevel);
    const consumed = categories.filter((entry) => !left.includes(entry));
    const isBehind = sameCategories([...left, ...consumed], categories, shared);
    if (!isBehind) unsaid.push("the paranoia levels are not switched off behind the other categories");
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
  });
  return { declared: found as DeclaredOverrides, unsaid }; // An action of tomorrow is drift for the next preview.
}

/** Threshold and action of the last rule belong to `owasp`, but for what only `rules` declares. */
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
    rules: Object.keys(own).length === 0 ? {} : { [scoreRule]: own }, // Members of the answer, by our names.
  };
}

/** What the overrides hold that no argument says, in words. */
function unsaidIn({ enabled, further, categories, rules }: Overrides): string[] {
  const entries = [
    ...categories.map(({ tag, further: more }) => [`category ${JSON.stringify(tag)}`, more] as const),
    ...Object.entries(rules).map(([id, { further: more }]) => [`rule ${id}`, more] as const),
  ];
  return [
    ...(enabled === undefined
      ? []
      : [`the whole ruleset is switched ${enabled ? "on" : "off"} by an override`]),
    ...(further === undefined ? [] : [`the overrides hold ${Object.keys(further).join(", ")}`]),
    ...entries.flatMap(([what, more]) =>
      more === undefined ? [] : [`the override of ${what} holds ${Object.keys(more).join(", ")}`],
    ),
  ];
}

/** The entry in the form of an argument. */
function toArgument(entry: CategoryOverride | RuleOverride): unknown {
  return omit({ ...entry }, ["further"]);
}
