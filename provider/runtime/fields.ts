import { z } from "zod";
import { IDENTIFIER } from "../limits/index";
import { pluralize } from "../basics/words";

/** Argument schemas that several resources share. */

/** Whether a text has the form of a Cloudflare ID, in upper or lower case. */
const isId = (text: string): boolean =>
  /^[0-9a-f]+$/i.test(text) && text.length === IDENTIFIER.LENGTH_CHARACTERS;

/**
 * Returns the schema of a Cloudflare ID, whose canonical form is lower case.
 *
 * @param kind what the ID is, such as `a zone ID`.
 * @param advice a sentence that says where to find the ID.
 */
const idOf = (kind: string, advice: string): z.ZodType<string, string> =>
  z
    .string({ error: ({ input }) => (input === undefined ? `is required. ${advice}` : undefined) })
    .transform((text, ctx) => {
      if (isId(text)) return text.toLowerCase();
      ctx.addIssue({
        code: "custom",
        message:
          `${JSON.stringify(text.slice(0, 40))} is not ${kind} (${IDENTIFIER.LENGTH_CHARACTERS} hex digits): ${text === "" ? "it's empty" : `it has ${pluralize(text.length, "character")}`}` +
          `${/^[0-9a-f]*$/i.test(text) ? "" : ", not all of them hex digits"}. ${advice}`,
      });
      return z.NEVER;
    });

/** Cloudflare's IDs: schemas of arguments, and whether a text has their form. */
export const ID = {
  is: isId,
  of: idOf,
  zone: idOf("a zone ID", "Find it on the zone's Overview page in the dashboard."),
  account: idOf(
    "an account ID",
    'Find it on the Overview page of any zone in the account, or set it for the whole stack with "pulumi config set edgeguard:accountId <id>".',
  ),
};

/**
 * One of these values, but any other string also compiles. An argument that comes from a variable, a function or JSON
 * then doesn't need `as const`; the preview rejects other values and lists the allowed ones. In responses, Cloudflare
 * may add values at any time.
 */
export type LiteralUnion<T extends string> = T | (string & {});

/** When a create adopts an existing object: only if the object matches, never, or even if it differs. */
export type Adopt = "ifEqual" | "never" | "takeOver";
/** Whether to adopt an object that already exists. */
export const adopt: z.ZodType<Adopt> = z.enum(["ifEqual", "never", "takeOver"]);
