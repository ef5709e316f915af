import { z } from "zod";
import { errorMessages } from "./inputs";
import { isJsonObject, type Json } from "./values";

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
