/** What the engine hands over: plain JSON, before any schema has looked at it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = Readonly<Record<string, unknown>>;

/** The string that stands for a value nobody knows yet, in previews, at any depth (@pulumi/pulumi, runtime/rpc). */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** True when the value, or anything inside it, is not known yet. */
export function hasUnknown(value: unknown): boolean {
  if (value === UNKNOWN) return true;
  if (Array.isArray(value)) return value.some(hasUnknown);
  return isJsonObject(value) && Object.values(value).some(hasUnknown);
}

/** True when what lies at `path` is not known yet, or lies inside something that is not. */
export function unknownAt(value: unknown, path: readonly PropertyKey[]): boolean {
  let here = value;
  for (const key of path) {
    if (here === UNKNOWN) return true;
    here = isJsonObject(here) || Array.isArray(here) ? Reflect.get(here, key) : undefined;
  }
  return hasUnknown(here);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Equality by meaning of JSON: order of members does not matter, a missing member equals an undefined one. */
export function sameJson(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** JSON with members in a fixed order. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : member,
  );
}

/** A member by a name from outside: what every object inherits, `constructor` and the like, is none. */
export function ownMember<T>(members: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

/** The named members that are present. */
export function pick(bag: JsonObject, keys: Iterable<string>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const key of keys) if (bag[key] !== undefined) out[key] = bag[key];
  return out;
}

/** Everything but the named members. */
export function omit(bag: JsonObject, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(bag).filter(([key, value]) => value !== undefined && !keys.includes(key)),
  );
}

/** The members that have a value. */
export const omitUndefined = (bag: JsonObject): Record<string, unknown> => omit(bag, []);

/** "1 rule", "3 rules". */
export function pluralize(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
