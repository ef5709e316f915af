import { isWiderOrEqual } from "../../rules-language/equivalence";
import { isHidden } from "./sides";

/** Whether `wide` provably selects every request that `narrow` selects. Both are filter expressions, as a plan shows them. */
export function selectsNoLess(wide: unknown, narrow: unknown): boolean {
  if (typeof wide !== "string" || typeof narrow !== "string" || isHidden(wide) || isHidden(narrow))
    return false;
  return isWiderOrEqual(wide, narrow);
}
