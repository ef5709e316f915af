import { z } from "zod";
import { json, record } from "./json";
import { omitUndefined, isJsonObject, omit, pick, type JsonObject } from "./values";

/** Converts API records: names become camelCase, and fields that this version doesn't know go into `extra`. */

/** Returns the schema of a field that may be missing, depending on the plan. Null counts as missing. */
export const optional = <T>(schema: z.ZodType<T>) =>
  schema.nullish().transform((value) => value ?? undefined);

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

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S;

/** A record with camelCase names. */
export type CamelRecord<S extends z.ZodRawShape> = Present<
  { readonly [K in keyof S & string as Camel<K>]: z.output<S[K]> },
  undefined
> & { readonly extra?: JsonObject };

/** Reads a record: `first_seen_at` becomes `firstSeenAt`, and fields not in `shape` go into `extra`. */
export function camelRecord<S extends z.ZodRawShape>(shape: S): z.ZodType<CamelRecord<S>> {
  const names = Object.keys(shape);
  return z.looseObject(shape).transform((raw: JsonObject) => {
    const members = Object.fromEntries(names.map((name) => [camel(name), raw[name]]));
    const read: unknown = { ...omitUndefined(members), ...unknownMembers(raw, names) };
    return read as CamelRecord<S>; // `camel` is `Camel`, name by name.
  });
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns a response's unknown fields, unchanged, as `extra`. Empty if there are none. */
export function unknownMembers(raw: JsonObject, known: readonly string[]): { readonly extra?: JsonObject } {
  const extra = omit(raw, known);
  return Object.keys(extra).length === 0 ? {} : { extra };
}

/** Fields that Cloudflare itself sets on objects. */
export const STAMPS = ["created_at", "created_on", "updated_at", "modified_on", "last_updated", "version"];

/**
 * Returns the schema of the argument `extra`: API fields that aren't arguments in this version, passed through
 * unchanged.
 */
export const extra = (
  known: readonly string[],
): z.ZodType<Record<string, unknown>, Record<string, unknown>> =>
  record(json).superRefine((members, ctx) => {
    for (const name of Object.keys(members)) {
      if (!known.includes(name)) continue;
      const message = "has its own argument. Set that argument instead of extra";
      ctx.addIssue({ code: "custom", path: [name], message });
    }
  });

/** Returns a declared `extra` with the API's values. If the API doesn't return a field, keeps the declared value. */
export function extraFound(
  declared: JsonObject | undefined,
  raw: JsonObject,
): { readonly extra?: Record<string, unknown> } {
  return declared === undefined ? {} : { extra: { ...declared, ...pick(raw, Object.keys(declared)) } };
}

/**
 * Returns the fields that the program removed from `extra`. Cloudflare resets them to their defaults, because a PUT no
 * longer contains them.
 */
export function removedExtra(before: unknown, now: JsonObject | undefined): string[] {
  return isJsonObject(before) ? Object.keys(omit(before, Object.keys(now ?? {}))) : [];
}
