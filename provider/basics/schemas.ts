import { z } from "zod";
import { describe, isJsonObject, omit, type Json, type JsonObject, type Present } from "./json";
import { nearest } from "./nearest";

/**
 * Returns a schema for an object with arbitrary keys. It keeps a key named `__proto__`, which Zod's own record silently
 * drops.
 */
export function record<Out, In>(
  member: z.ZodType<Out, In>,
): z.ZodType<Record<string, Out>, Record<string, In>> {
  return z
    .custom<Record<string, In>>(() => true)
    .meta({ member }) // So that code that walks a schema finds the members.
    .transform((given, ctx) => {
      if (!isJsonObject(given)) {
        ctx.addIssue({ code: "invalid_type", expected: "record", input: given });
        return z.NEVER;
      }
      const found: [string, Out][] = [];
      for (const [name, value] of Object.entries(given)) {
        const parsed = member.safeParse(value, { error: errorMessages(true) }); // It may be secret.
        if (parsed.success) found.push([name, parsed.data]);
        else
          for (const issue of parsed.error.issues) {
            const moved = { ...issue, input: value, path: [name, ...issue.path] };
            ctx.issues.push(moved as z.core.$ZodRawIssue); // Zod's own issue, moved up one level.
          }
      }
      return Object.fromEntries(found);
    });
}

/** Any JSON value. */
export const json = z.custom<Json>(isJson, "contains a value that JSON can't represent");

/** Checks whether a value is JSON. Isn't recursive, because values may be deeply nested. */
function isJson(value: unknown): boolean {
  const open = [value];
  while (open.length > 0) {
    const one = open.pop();
    if (Array.isArray(one)) for (const item of one as readonly unknown[]) open.push(item);
    else if (isJsonObject(one)) for (const item of Object.values(one)) open.push(item);
    else if (typeof one === "number" ? !Number.isFinite(one) : one !== null && !isPlain(one)) return false;
  }
  return true;
}

function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean";
}

/** Returns the schema of a field that may be missing, depending on the plan. Null counts as missing. */
export const optional = <T>(schema: z.ZodType<T>) =>
  schema.nullish().transform((value) => value ?? undefined);

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
    const read: unknown = { ...omit(members), ...unknownMembers(raw, names) };
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

/** Returns the Zod error map for checks that don't set their own message. */
export function errorMessages(isSecret: boolean): z.core.$ZodErrorMap {
  return (issue) => {
    switch (issue.code) {
      case "unrecognized_keys": {
        const names = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [];
        const [first = "", ...more] = issue.keys.map((key) => unknownName("option", key, names));
        return [first, ...more.map((sentence) => sentence.replace("u", "U"))].join(" ");
      }
      case "too_small":
        return `must be at least ${String(issue.minimum)}${insteadOf(issue.input, isSecret)}`;
      case "too_big":
        return `must be at most ${String(issue.maximum)}${insteadOf(issue.input, isSecret)}`;
      default:
        return undefined;
    }
  };
}

/** Returns a message about an unknown name, with the one that was probably meant. */
export function unknownName(what: "argument" | "option", key: string, names: readonly string[]): string {
  const near = nearest(key, names);
  const advice = near === undefined ? `Valid ${what}s: ${names.join(", ")}.` : `Did you mean "${near}"?`;
  return `unknown ${what} ${describe(key)}. ${advice}`;
}

/** Returns the end of a message that says what was given instead of an allowed value: `, not "x"`. */
export function insteadOf(value: unknown, isSecret: boolean): string {
  return isSecret ? " (secret value not shown)" : `, not ${describe(value)}`;
}
