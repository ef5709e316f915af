import type { z } from "zod";
import { json, record } from "../basics/schemas";
import { isJsonObject, omit, pick, type JsonObject } from "../basics/json";

/** Converts API records: names become camelCase, and fields that this version doesn't know go into `extra`. */

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
