import { joined, say, value, words } from "../phrase";
import { heirOf, isDeleted, isReplaced, unknownPlaces } from "../sections/section";
import type { Judge } from "./sides";

/** Finds resources of any provider that the plan replaces or deletes, and ours that the update may replace. */
export const general: Judge = (all) => {
  const { step, old } = all;
  if (!step.custom) return []; // A component only groups other resources.
  const open = unknownPlaces(all);
  if (open.length > 0)
    return [["replace", say`may be replaced: the preview doesn't know ${joined(open.map(value))}`]];
  if (isReplaced(all)) {
    const why =
      step.replaceReasons.length === 0
        ? words("")
        : say` because of ${joined(step.replaceReasons.map(value))}`;
    return [["replace", say`is replaced${why}`]];
  }
  if (!isDeleted(step) || old.retained || heirOf(all) !== undefined) return [];
  return [["delete", words("is deleted")]];
};
