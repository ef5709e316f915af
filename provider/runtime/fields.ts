import { z } from "zod";
import { IDENTIFIER } from "../limits";

/** Argument schemas that several resources share. */

/** Whether a text is an ID of Cloudflare's, in either case. */
export const isId = (text: string): boolean =>
  /^[0-9a-f]+$/i.test(text) && text.length === IDENTIFIER.LENGTH_CHARACTERS;

/** Cloudflare's ID of something, in lower case. */
export const hexId = (what: string): z.ZodType<string, string> =>
  z
    .string({ error: ({ input }) => (input === undefined ? `is required. ${what}` : undefined) })
    .transform((text, ctx) => {
      if (isId(text)) return text.toLowerCase();
      ctx.addIssue({
        code: "custom",
        message:
          `has to be ${IDENTIFIER.LENGTH_CHARACTERS} hexadecimal digits; ${JSON.stringify(text.slice(0, 40))} is ${text.length} character${text.length === 1 ? "" : "s"}` +
          `${/^[0-9a-f]*$/i.test(text) ? "" : ", not all of them hexadecimal"}. ${what}`,
      });
      return z.NEVER;
    });

export const zoneId = hexId("Find the zone's ID on its Overview page in the dashboard.");

export const accountId = hexId(
  "Find the account's ID on the dashboard's overview page; the setting edgeguard:accountId gives it for a whole stack.",
);

/**
 * One of these words. Any other string compiles too: as an argument, so that an object in a variable, from a function or
 * from JSON needs no `as const` (the preview refuses other words, and lists the allowed ones); in an answer, because
 * Cloudflare may use a new word tomorrow.
 */
export type LiteralUnion<T extends string> = T | (string & {});

/** What to do with an object that exists already. */
export const adopt = z.enum(["ifEqual", "never", "takeOver"]);
export type Adopt = z.infer<typeof adopt>;
