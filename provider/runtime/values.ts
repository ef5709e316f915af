export { firstFew, pluralize, truncate } from "../api/words";

/** JSON from the engine that no schema has checked yet. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = Readonly<Record<string, unknown>>;

/** Represents an unknown value in previews, at any depth (@pulumi/pulumi, runtime/rpc). */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Whether the value, or anything inside it, is unknown. */
export function hasUnknown(value: unknown): boolean {
  if (value === UNKNOWN) return true;
  if (Array.isArray(value)) return value.some(hasUnknown);
  return isJsonObject(value) && Object.values(value).some(hasUnknown);
}

/** Whether the value at `path` is unknown, contains something unknown, or is inside something unknown. */
export function unknownAt(value: unknown, path: readonly PropertyKey[]): boolean {
  let current = value;
  for (const key of path) {
    if (current === UNKNOWN) return true;
    current = isJsonObject(current) || Array.isArray(current) ? Reflect.get(current, key) : undefined;
  }
  return hasUnknown(current);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Compares two values as JSON: the order of properties doesn't matter, and a missing property equals an undefined one.
 */
export function sameJson(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** Formats a value as JSON with its properties in a fixed order. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => compareText(a, b)))
      : member,
  );
}

/** Compares texts by their UTF-16 code units, for a sort order that's the same in every locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Looks up a property by an untrusted name. Ignores inherited properties, such as `constructor`. */
export function ownMember<T>(members: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

/** Returns an object with only the named properties that are present. */
export function pick(object: JsonObject, keys: Iterable<string>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const key of keys) if (object[key] !== undefined) out[key] = object[key];
  return out;
}

/** Returns an object without the named properties. */
export function omit(object: JsonObject, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object).filter(([key, value]) => value !== undefined && !keys.includes(key)),
  );
}

/** Returns an object without undefined properties. */
export const omitUndefined = (object: JsonObject): Record<string, unknown> => omit(object, []);

/** Joins words: `a`, `a and b`, `a, b and c`. */
export function inSeries(words: readonly string[], conjunction = "and"): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} ${conjunction} ${last}`;
}
