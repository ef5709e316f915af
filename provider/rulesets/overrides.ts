import { canonicalJson, omit, pick, sameJson } from "../runtime/values";
import type { DeclaredOverrides, Owasp, Rules } from "./declared";
import { levelOf, levelsOff, readLevel, scoreOverride } from "./owasp";
import type { CategoryOverride, ManagedRuleset, Overrides, RuleOverride } from "./wire";

/** From what is declared to the overrides of the rule, back, and whether two of them mean the same. */

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
  const score = owasp === undefined ? undefined : scoreOverride(owasp);
  return {
    ...(action === undefined ? {} : { action }),
    categories: [...own, ...off],
    rules:
      score === undefined || scoreRule === undefined
        ? rules
        : { ...rules, [scoreRule]: { ...rules[scoreRule], ...score } },
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
  const found = omit(
    {
      owasp,
      categories: categories.length === 0 ? undefined : categories.map(toArgument),
      rules:
        Object.keys(rules).length === 0
          ? undefined
          : Object.fromEntries(Object.entries(rules).map(([id, entry]) => [id, toArgument(entry)])),
      action: live.action,
    },
    [],
  ) as DeclaredOverrides;
  return { declared: found, unsaid };
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
  const ofOwasp = members.filter((m) => owasp?.[m] !== undefined || !ofRules.includes(m));
  const own = omit(
    { ...score },
    members.filter((member) => !ofRules.includes(member)),
  );
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

/** The entry in the form of an argument. An action of tomorrow is drift that the next preview shows, not an error here. */
function toArgument(entry: CategoryOverride | RuleOverride): unknown {
  return omit({ ...entry }, ["further"]);
}
