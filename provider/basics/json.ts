import { compareText, pluralize } from "./words";

/** JSON from the engine that no schema has checked yet. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = Readonly<Record<string, unknown>>;

/** Parses a JSON text. Undefined if it isn't valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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

/** Returns an object without the named properties, and without undefined ones. */
export function omit(object: JsonObject, keys: readonly string[] = []): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object).filter(([key, value]) => value !== undefined && !keys.includes(key)),
  );
}

/** An object type without null and undefined. Properties whose value may be missing are optional. */
export type Present<T, Missing = null | undefined> = {
  readonly [K in keyof T as [Extract<T[K], Missing>] extends [never] ? K : never]: T[K];
} & {
  readonly [K in keyof T as [Extract<T[K], Missing>] extends [never] ? never : K]?: Exclude<T[K], Missing>;
};

/** Leaves out properties that are null or undefined. */
export function omitAbsent<T extends object>(members: T): Present<T> {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given) as Present<T>; // The filter above ensures this, but the compiler can't tell.
}

/** Formats a property path as the engine does: `value.scriptSrc[2]`. */
export function propertyPath(path: readonly PropertyKey[]): string {
  return path
    .map((key, i) =>
      typeof key === "number"
        ? `[${key}]`
        : i === 0
          ? String(key)
          : /^\w+$/.test(String(key))
            ? `.${String(key)}`
            : `["${String(key)}"]`,
    )
    .join("");
}

const SHOWN_CHARACTERS = 60;

/** Formats a value for a sentence, shortened if necessary. */
export function describe(value: unknown): string {
  if (value === undefined) return "missing";
  if (Array.isArray(value))
    return value.length === 0 ? "an empty list" : `a list with ${pluralize(value.length, "item")}`;
  if (isJsonObject(value)) return "an object";
  const text = JSON.stringify(value);
  return text.length <= SHOWN_CHARACTERS
    ? text
    : `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)`;
}
