import { joined, say, value, words } from "../phrase";
import { isDeleted, isReplaced } from "../sections/section";
import type { Judge } from "./sides";

/** Finds resources of any provider that the plan replaces or deletes. */
export const general: Judge = ({ step, old }) => {
  if (!step.custom) return []; // A component only groups other resources.
  if (isReplaced(step)) {
    const why =
      step.replaceReasons.length === 0
        ? words("")
        : say` because of ${joined(step.replaceReasons.map(value))}`;
    return [["replace", say`is replaced${why}`]];
  }
  if (!isDeleted(step) || old.retained) return [];
  return [["delete", words("is deleted")]];
};
