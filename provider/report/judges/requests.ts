import { isHidden } from "./sides";

/** Whether `wide` provably selects every request that `narrow` selects. Both are filter expressions, as a plan shows them. */
export function selectsNoLess(wide: unknown, narrow: unknown): boolean {
  if (typeof wide !== "string" || typeof narrow !== "string" || isHidden(wide) || isHidden(narrow))
    return false;
  const [one, other] = [normal(wide), normal(narrow)];
  return one === other || one === "true" || other === "false";
}

/** White space between words means nothing; within quotes it does. */
function normal(expression: string): string {
  return expression
    .split(/("(?:[^"\\]|\\.)*")/)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(/\s+/g, " ")))
    .join("")
    .trim();
}
