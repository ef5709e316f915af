import { formatNumber } from "../limits/workers";

/** Formats a count with its noun: "1 rule", "1,200 rules", "3 entries", "2 addresses". */
export function pluralize(count: number, noun: string): string {
  const plural = /[^aeiou]y$/.test(noun)
    ? `${noun.slice(0, -1)}ies`
    : `${noun}${/ss$/.test(noun) ? "es" : "s"}`;
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}

/** Names the first items, and counts the others: `a, b and 3 more`. */
export function firstFew(items: readonly string[], most: number): string {
  const others = items.length - most;
  return others <= 0
    ? items.join(", ")
    : `${items.slice(0, most).join(", ")} and ${formatNumber(others)} more`;
}

/** Names the first items: `a, b, …`. */
export function firstOf(items: readonly string[], most: number): string {
  return `${items.slice(0, most).join(", ")}${items.length > most ? ", …" : ""}`;
}

/** Drops the items of a list that don't apply. */
export function applying<T>(...items: readonly (T | false | undefined)[]): T[] {
  return items.flatMap((item) => (item === false || item === undefined ? [] : [item]));
}

/** Shortens a text without splitting a surrogate pair. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Joins words: `a`, `a and b`, `a, b and c`. */
export function inSeries(words: readonly string[], conjunction = "and"): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} ${conjunction} ${last}`;
}

/** Compares texts by their UTF-16 code units, for a sort order that's the same in every locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Whether a text matches a pattern in which `*` stands for any characters, in any case. Doesn't use a regular expression,
 * which would be slow for a pattern with many stars.
 */
export function matchesPattern(given: string, pattern: string): boolean {
  const text = given.toLowerCase();
  const [first = "", ...parts] = pattern.toLowerCase().split("*");
  const last = parts.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= end;
}
