import { z } from "zod";
import { checkExpression } from "./check";
import { normalizeNotation } from "./equivalence";

/**
 * The schema of an expression argument. Rejects what Cloudflare would reject. The text is sent as written, except that
 * it's trimmed.
 */
export const expression = z
  .string()
  .superRefine((text, ctx) => {
    if (text.trim() === "") {
      const message =
        'is empty. Set it to an expression that selects requests, such as http.host eq "www.example.com"';
      ctx.addIssue({ code: "custom", message });
      return;
    }
    for (const message of checkExpression(text).errors) {
      ctx.addIssue({ code: "custom", message, params: { withoutValue: "is not a valid expression" } });
    }
  })
  .trim();

/** Returns one warning about everything that Cloudflare may reject in a resource's expressions, by property path. */
export function expressionWarning(
  resource: string,
  expressions: Readonly<Record<string, string>>,
): { readonly warning: string } | undefined {
  const sentences = Object.entries(expressions).flatMap(([path, text]) =>
    checkExpression(text).warnings.map((warning) => `${path}: ${warning}${warning.endsWith("?") ? "" : "."}`),
  );
  return sentences.length === 0 ? undefined : { warning: `${resource}: ${sentences.join(" ")}` };
}

/** Whether two values are the same expression, ignoring whitespace and notation. */
export function isSameExpression(one: unknown, other: unknown): boolean {
  return (
    typeof one === "string" &&
    typeof other === "string" &&
    normalizeNotation(one) === normalizeNotation(other)
  );
}
