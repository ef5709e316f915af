import { escapeInvisible } from "../basics/printable";
import { formatNumber } from "../limits/workers";
import { isJsonObject, omit, sameJson, type JsonObject } from "../basics/json";
import { truncate } from "../basics/words";
import { hasUnknown, UNKNOWN } from "../runtime/engine-values";
import { value, words, type Phrase } from "./phrase";

export { truncate };

/** The text that the engine writes instead of a secret. */
export const SECRET = "[secret]";

/** Whether the value, or anything inside it, is secret or unknown before the update. */
export const isHidden = (given: unknown): boolean => containsSecret(given) || hasUnknown(given);

/** Whether the value, or anything inside it, is secret. */
export function containsSecret(given: unknown): boolean {
  if (given === SECRET) return true;
  if (Array.isArray(given)) return given.some(containsSecret);
  return isJsonObject(given) && Object.values(given).some(containsSecret);
}

const MOST_CHARACTERS = 120;

/** Formats a value as one line of at most `limit` characters, with invisible characters escaped. */
export function formatValue(given: unknown, limit = MOST_CHARACTERS): string {
  return truncate(withoutInvisible(given), limit);
}

/** Formats a value for a table cell or a sentence of the report. */
export function cell(given: unknown, limit = MOST_CHARACTERS): Phrase {
  const isWords = given === undefined || given === UNKNOWN || given === SECRET;
  return (isWords ? words : value)(formatValue(given, limit));
}

/** Formats a text as it is, unless it's empty or has spaces at an end. */
function withoutInvisible(given: unknown): string {
  if (given === undefined) return "–";
  if (given === UNKNOWN || (typeof given === "string" && given.trim() === given && given !== ""))
    return given === UNKNOWN ? KNOWN_LATER : escapeInvisible(given);
  return escapeInvisible(
    JSON.stringify(given, (_key, member: unknown) => (member === UNKNOWN ? KNOWN_LATER : member)),
  );
}

const KNOWN_LATER = "known after apply";

export type Difference = readonly [name: string, before: Phrase, after: Phrase];

/**
 * Returns the arguments that differ, each with its path and the values before and after. Objects, and lists of objects,
 * are compared member by member.
 */
export function differences(
  before: JsonObject,
  after: JsonObject,
  leaveOut: readonly string[] = [],
): Difference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names
    .filter((name) => !leaveOut.includes(name) && !sameJson(before[name], after[name]))
    .flatMap((name): Difference[] => {
      const [one, other] = [before[name], after[name]].map(byIndex);
      const objects = [one, other].every((side) => side === undefined || isJsonObject(side));
      if (objects) {
        return differences(asObject(one), asObject(other)).map(([member, was, is]) => [
          `${name}.${member}`,
          was,
          is,
        ]);
      }
      return [[name, ...showDifference(one, other)]];
    });
}

/** Converts a list of objects to an object by index and tag, so that a removed tag doesn't look like a changed one. */
function byIndex(given: unknown): unknown {
  if (!Array.isArray(given) || given.length === 0 || !given.every(isJsonObject)) return given;
  const members = given.map((member, index): [string, JsonObject] => {
    const tag = asText(member["tag"]);
    return tag === undefined ? [String(index), member] : [`${index} (${tag})`, omit(member, ["tag"])];
  });
  return Object.fromEntries(members);
}

const CONTEXT_CHARACTERS = 20;

/** Formats two values that differ, each shortened to the part that differs. */
function showDifference(one: unknown, other: unknown): readonly [Phrase, Phrase] {
  if (formatValue(one) !== formatValue(other) || one === SECRET) return [cell(one), cell(other)];
  const [a, b] = [withoutInvisible(one), withoutInvisible(other)];
  let first = 0;
  while (first < a.length && a[first] === b[first]) first += 1;
  const start = Math.max(0, first - CONTEXT_CHARACTERS);
  return [
    value(`…${truncate(a.slice(start), MOST_CHARACTERS)}`),
    value(`…${truncate(b.slice(start), MOST_CHARACTERS)}`),
  ];
}

export const asText = (given: unknown): string | undefined =>
  typeof given === "string" && given !== UNKNOWN ? given : undefined;

export const asNumber = (given: unknown): number | undefined =>
  typeof given === "number" ? given : undefined;

export const asList = (given: unknown): readonly unknown[] => (Array.isArray(given) ? given : []);

export const asObject = (given: unknown): JsonObject => (isJsonObject(given) ? given : {});

/** Formats a count with its noun: "1 key", "1,200 keys". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}
