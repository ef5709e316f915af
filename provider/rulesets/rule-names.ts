import { z } from "zod";
import { escapeInvisible } from "../basics/printable";
import { ID } from "../runtime/fields";
import { distance } from "../basics/nearest";
import { ownMember } from "../basics/json";
import { pluralize } from "../basics/words";
import type { ManagedRule } from "./wire";

/** Finds managed rules by name instead of ID: by words in the description, an OWASP number or a CVE number. */

/** Rule IDs by the ID of the ruleset, then by the rule's name in the program. */
export type RuleIds = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const ruleIds: z.ZodType<RuleIds> = z.record(z.string(), z.record(z.string(), z.string()));

/** Returns the ID that a name was resolved to. */
export function resolvedId(ids: RuleIds, ruleset: string, name: string): string | undefined {
  return ownMember(ownMember(ids, ruleset) ?? {}, name);
}

/** Returns the ID that a name refers to. An ID, or a name that hasn't been resolved, is returned unchanged. */
export function ruleIdOf(ids: RuleIds, ruleset: string, name: string): string {
  return resolvedId(ids, ruleset, name) ?? name;
}

/** Converts overrides by name to overrides by rule ID. @param ids the IDs recorded for the ruleset. */
export function byRuleId<T>(
  rules: Readonly<Record<string, T>> | undefined,
  ids: Readonly<Record<string, string>> = {},
): Record<string, T> | undefined {
  if (rules === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(rules).map(([name, entry]) => [ownMember(ids, name) ?? name, entry]),
  );
}

/**
 * Converts overrides by rule ID to overrides by the names that the program uses. @param ids the IDs recorded for the
 * ruleset.
 */
export function byRuleName<T>(
  rules: Readonly<Record<string, T>> | undefined,
  declared: Readonly<Record<string, T>> = {},
  ids: Readonly<Record<string, string>> = {},
): Record<string, T> | undefined {
  if (rules === undefined) return undefined;
  const nameOf = (id: string): string => {
    const names = Object.keys(ids).filter((name) => ids[name] === id);
    return [id, ...names].find((name) => Object.hasOwn(declared, name)) ?? names[0] ?? id;
  };
  const entries = Object.entries(rules).map(([id, entry]) => [nameOf(id), entry] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Returns a rule's ID in lower case, or its name as given. A string that's almost an ID is rejected as a malformed ID.
 */
export function parseRuleName(given: string, refuse: (reason: string) => void): string {
  if (ID.is(given)) return given.toLowerCase();
  if (/^[0-9a-f]{16,}$/i.test(given))
    refuse(
      `is not a rule ID (32 hex digits): it has ${pluralize(given.length, "character")}. Find the ID with \`getManagedRuleset\``,
    );
  else if (wordsOf(given).length === 0)
    refuse(
      "contains no words that identify a rule. Use the rule's ID, words from its description, or its OWASP or CVE number",
    );
  return given;
}

export const ruleName = z.string().transform((given, ctx) =>
  parseRuleName(given, (reason) => {
    const message = given === "" ? reason : `${JSON.stringify(given.slice(0, 60))} ${reason}`;
    ctx.addIssue({ code: "custom", message });
  }),
);

/**
 * Returns the words and numbers of a text in lower case. A CVE number is a single word however it's written:
 * `CVE-2021-44228`, `CVE_2021_44228`, `2021-44228` and `CVE:CVE-2021-44228` are the same, with any kind of hyphen.
 */
function wordsOf(text: string): string[] {
  const found = text.toLowerCase().matchAll(CVE_OR_WORD);
  return [...found].map(([word, year, number]) => (year === undefined ? word : `cve-${year}-${number}`));
}

const CVE_OR_WORD =
  /(?<![\p{L}\p{N}])(?:cve[\s:_\p{Pd}]{0,3}){0,2}((?:19|20)\d\d)[_\p{Pd}](\d{4,})(?![\p{L}\p{N}])|[\p{L}\p{N}]+/gu;

interface RuleWords {
  readonly described: readonly { readonly rule: ManagedRule; readonly words: ReadonlySet<string> }[];
  /** For each word, the rules whose descriptions contain it. */
  readonly rulesWith: ReadonlyMap<string, readonly ManagedRule[]>;
}

const knownWords = new WeakMap<readonly ManagedRule[], RuleWords>();

/** Splits the descriptions of a ruleset's rules into words, once for all names. */
function wordsIn(rules: readonly ManagedRule[]): RuleWords {
  const known = knownWords.get(rules);
  if (known !== undefined) return known;
  const described = rules.map((rule) => ({ rule, words: new Set(wordsOf(rule.description)) }));
  const rulesWith = new Map<string, ManagedRule[]>();
  for (const { rule, words } of described)
    for (const word of words) {
      const others = rulesWith.get(word);
      if (others === undefined) rulesWith.set(word, [rule]);
      else others.push(rule);
    }
  const found = { described, rulesWith };
  knownWords.set(rules, found);
  return found;
}

/**
 * Returns the rules whose description contains all words of the name. If some of the descriptions contain no other
 * words, returns only those rules.
 */
export function rulesNamed(name: string, rules: readonly ManagedRule[]): readonly ManagedRule[] {
  const wanted = new Set(wordsOf(name));
  const matching = wordsIn(rules).described.filter(({ words }) =>
    [...wanted].every((word) => words.has(word)),
  );
  const whole = matching.filter(({ words }) => words.size === wanted.size);
  return (whole.length > 0 ? whole : matching).map(({ rule }) => rule);
}

/** Returns rules that the name may be meant for, best first: those that share the rarest words with it. */
export function nearestRules(name: string, rules: readonly ManagedRule[]): readonly ManagedRule[] {
  const wanted = wordsOf(name).filter(({ length }) => length >= LEAST_CHARACTERS);
  const { rulesWith } = wordsIn(rules);
  const scores = new Map<ManagedRule, number>();
  for (const word of wanted) {
    const near = new Set([...rulesWith].flatMap(([other, having]) => (isNear(word, other) ? having : [])));
    for (const rule of near) scores.set(rule, (scores.get(rule) ?? 0) + 1 / near.size);
  }
  return [...scores].sort(([, a], [, b]) => b - a).map(([rule]) => rule);
}

/** The minimum length of a word that counts. Shorter words, such as "in", say nothing about a rule. */
const LEAST_CHARACTERS = 3;

/** Whether one word is probably a misspelling of the other. In a number, one digit may differ. */
function isNear(word: string, other: string): boolean {
  const most = /\d/.test(word) ? 1 : Math.floor(word.length / 3);
  return Math.abs(word.length - other.length) <= most && distance(word, other) <= most;
}

const SHOWN_RULES = 5;

/** Returns a list of rules as text: `6f01… ("Java applications: SQL injection"), … and 3 more`. */
export function listRules(rules: readonly ManagedRule[]): string {
  const more = rules.length - SHOWN_RULES;
  return rules.slice(0, SHOWN_RULES).map(describeRule).join(", ") + (more > 0 ? `, and ${more} more` : "");
}

/** Names a rule: `6f01… "Java applications: SQL injection"`. */
export const quoteRule = (id: string, description = ""): string =>
  description === "" ? id : `${id} ${JSON.stringify(description)}`;

export function describeRule({ id, description }: ManagedRule): string {
  const shown =
    description.length > SHOWN_CHARACTERS ? `${description.slice(0, SHOWN_CHARACTERS)}…` : description;
  return description === "" ? id : `${id} (${JSON.stringify(escapeInvisible(shown))})`;
}

const SHOWN_CHARACTERS = 120;
