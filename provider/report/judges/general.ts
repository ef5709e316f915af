import { joined, say, value, words } from "../phrase";
import { isGone, isReplaced } from "../sections/section";
import type { Judge } from "./sides";

/** Replacements and deletions, of any provider. */
export const general: Judge = ({ step, old }) => {
  if (!step.custom) return []; // A component is nothing by itself.
  if (isReplaced(step)) {
    const why =
      step.replaceReasons.length === 0
        ? words("")
        : say` because of ${joined(step.replaceReasons.map(value))}`;
    return [["replace", say`is replaced${why}`]];
  }
  if (!isGone(step) || old.retained) return [];
  return [["delete", words("is deleted")]];
};
