import { z } from "zod";
import { checkExpression } from "./check";
import { wordingOf } from "./meaning";

/** An expression as an argument: refused where Cloudflare would refuse it, and sent as it is written, trimmed. */
export const expression = z
  .string()
  .superRefine((text, ctx) => {
    if (text.trim() === "") {
      const message = 'has to select requests, for example http.host eq "www.example.com"; it is empty';
      ctx.addIssue({ code: "custom", message });
      return;
    }
    for (const message of checkExpression(text).errors) {
      ctx.addIssue({ code: "custom", message, params: { withoutValue: "is not a valid expression" } });
    }
  })
  .trim();

/** A warning of what Cloudflare may refuse in the expressions at these places of a resource. */
export function expressionWarning(
  resource: string,
  places: Readonly<Record<string, string>>,
): { readonly warning: string } | undefined {
  const found = Object.entries(places).flatMap(([place, text]) =>
    checkExpression(text).warnings.map(
      (warning) => `${place}: ${warning}${warning.endsWith("?") ? "" : "."}`,
    ),
  );
  return found.length === 0 ? undefined : { warning: `${resource}: ${found.join(" ")}` };
}

/** Whether two arguments, as they come from a state or a program, are one expression but for white space and notation. */
export function isSameExpression(one: unknown, other: unknown): boolean {
  return typeof one === "string" && typeof other === "string" && wordingOf(one) === wordingOf(other);
}
