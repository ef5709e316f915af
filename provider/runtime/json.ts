import { z } from "zod";
import { errorMessages } from "./inputs";
import { isJsonObject, type Json } from "./values";

/**
 * An object whose names come from outside. Zod's own record leaves out a member that is called `__proto__`, without a
 * word; here it is a name like any other.
 */
export function record<Out, In>(
  member: z.ZodType<Out, In>,
): z.ZodType<Record<string, Out>, Record<string, In>> {
  return z
    .custom<Record<string, In>>(() => true)
    .meta({ member }) // For whoever walks a schema: nothing else says what is in a record.
    .transform((given, ctx) => {
      if (!isJsonObject(given)) {
        ctx.addIssue({ code: "invalid_type", expected: "record", input: given });
        return z.NEVER;
      }
      const found: [string, Out][] = [];
      for (const [name, value] of Object.entries(given)) {
        const parsed = member.safeParse(value, { error: errorMessages(true) }); // Whether it is a secret is not known here.
        if (parsed.success) found.push([name, parsed.data]);
        else
          for (const issue of parsed.error.issues) {
            const moved = { ...issue, input: value, path: [name, ...issue.path] };
            ctx.issues.push(moved as z.core.$ZodRawIssue); // Zod's own issue, one level up.
          }
      }
      return Object.fromEntries(found);
    });
}

/** What JSON has a form for, at any depth. */
export const json = z.custom<Json>(isJson, "holds something that JSON has no form for");

/** Without recursion: how deep it goes is not ours to say. */
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
