import { isHidden } from "../values";
import { isWiderOrEqual } from "../../rules-language/equivalence";

/** Whether the expression `wide` provably matches every request that `narrow` matches. */
export function selectsNoLess(wide: unknown, narrow: unknown): boolean {
  if (typeof wide !== "string" || typeof narrow !== "string" || isHidden(wide) || isHidden(narrow))
    return false;
  return isWiderOrEqual(wide, narrow);
}

/** Whether the expression provably matches no request. */
export const selectsNothing = (expression: unknown): boolean => selectsNoLess("false", expression);
