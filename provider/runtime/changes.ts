import { asCode, JS_NAME } from "../basics/code";
import { isJsonObject, omit, sameJson, type JsonObject } from "../basics/json";

/** Formats differences as text, and values as program code. */

/** An argument's values before and after. Absent if the argument wasn't set. */
export interface Change {
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Changes, by the name of the argument. */
export type Changes = Readonly<Record<string, Change>>;

/** The text that replaces a secret value. */
const HIDDEN = "[secret]";

interface Comparison {
  /** Whether an argument is secret. */
  readonly isSecret: (name: string) => boolean;
  /** Whether two values of an argument are equivalent. */
  readonly isSame?: (name: string, before: unknown, after: unknown) => boolean;
}

/** Returns how the properties in `found` differ from the declared properties. */
export function changesOf(
  found: JsonObject,
  declared: JsonObject,
  { isSecret, isSame }: Comparison,
): Changes {
  const changes: Record<string, Change> = {};
  for (const [name, before] of Object.entries(found)) {
    const after = declared[name];
    if (sameJson(before, after) || isSame?.(name, before, after) === true) continue;
    const sides = omit({ before, after });
    const hidden = Object.fromEntries(Object.keys(sides).map((side) => [side, HIDDEN]));
    changes[name] = isSecret(name) ? hidden : sides;
  }
  return changes;
}

/**
 * Describes changes as text: `enabled: true → false; owasp.scoreThreshold: 25 → 40`. Properties of objects are listed
 * one by one.
 */
export function changesInWords(changes: Changes): string {
  return Object.entries(changes)
    .flatMap(([name, { before, after }]) => changedMembers(name, before, after))
    .join("; ");
}

function changedMembers(name: string, before: unknown, after: unknown): string[] {
  const [was, is] = [membersOf(before), membersOf(after)];
  const members =
    was === undefined || is === undefined ? [] : [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const differ = members.filter((member) => !sameJson(was?.[member], is?.[member]));
  if (differ.length > 0)
    return differ.flatMap((member) =>
      changedMembers(`${name}${access(member)}`, was?.[member], is?.[member]),
    );
  const [one, other] = excerpts(asCode(before), asCode(after));
  return [`${name}: ${one} → ${other}`];
}

/**
 * Splits a value into parts that are compared separately: an object's properties, or the entries of a list of overrides
 * by tag. Undefined for other values.
 */
function membersOf(value: unknown): JsonObject | undefined {
  if (value === undefined) return {};
  if (isJsonObject(value)) return value;
  if (!Array.isArray(value) || !value.every((each) => isJsonObject(each) && typeof each["tag"] === "string"))
    return undefined;
  return Object.fromEntries(value.map(({ tag, ...rest }: JsonObject) => [String(tag), rest]));
}

const access = (member: string): string =>
  JS_NAME.test(member) ? `.${member}` : `[${JSON.stringify(member)}]`;

const MOST_CHARACTERS = 120;
const CONTEXT_CHARACTERS = 20;

/** Shortens two different texts to the part around the difference. */
function excerpts(one: string, other: string): [string, string] {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const start =
    Math.max(one.length, other.length) <= MOST_CHARACTERS ? 0 : Math.max(0, same - CONTEXT_CHARACTERS);
  const cut = (text: string): string => {
    const rest = text.slice(start, start + MOST_CHARACTERS);
    return `${start === 0 ? "" : "…"}${rest}${start + rest.length < text.length ? "…" : ""}`;
  };
  return [cut(one), cut(other)];
}

/**
 * Returns arguments to paste into the program to keep what the changes would remove. Undefined if they remove nothing.
 */
export function asArguments(changes: Changes): string | undefined {
  const before = Object.entries(changes).flatMap(([name, { before }]) =>
    before === undefined || before === HIDDEN ? [] : [`${name}: ${asCode(before)}`],
  );
  return before.length === 0 ? undefined : before.join(", ");
}
