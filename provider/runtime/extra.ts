import type { z } from "zod";
import { json, record } from "../basics/schemas";
import { isJsonObject, omit, pick, type JsonObject } from "../basics/json";

/** The argument `extra`: API fields that aren't arguments in this version, passed through unchanged. */
export const EXTRA = {
  /** Fields that Cloudflare itself sets on objects. */
  stamps: ["created_at", "created_on", "updated_at", "modified_on", "last_updated", "version"],

  /** Returns the argument's schema. The fields in `known` have arguments of their own. */
  schema: (known: readonly string[]): z.ZodType<Record<string, unknown>, Record<string, unknown>> =>
    record(json).superRefine((members, ctx) => {
      for (const name of Object.keys(members)) {
        if (!known.includes(name)) continue;
        const message = "has its own argument. Set that argument instead of extra";
        ctx.addIssue({ code: "custom", path: [name], message });
      }
    }),

  /** Returns a declared `extra` with the API's values. If the API doesn't return a field, keeps the declared value. */
  found: (declared: JsonObject | undefined, raw: JsonObject): { readonly extra?: Record<string, unknown> } =>
    declared === undefined ? {} : { extra: { ...declared, ...pick(raw, Object.keys(declared)) } },

  /**
   * Returns the fields that the program removed. Cloudflare resets them to their defaults, because a PUT no longer
   * contains them.
   */
  removed: (before: unknown, now: JsonObject | undefined): string[] =>
    isJsonObject(before) ? Object.keys(omit(before, Object.keys(now ?? {}))) : [],
} as const;
