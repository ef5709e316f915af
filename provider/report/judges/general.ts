import { hasUnknown } from "../../runtime/engine-values";
import { joined, say, value, words } from "../phrase";
import { isDeleted, isReplaced } from "../sections/section";
import type { Judge } from "./sides";

/** Arguments that replace an object by one elsewhere. While one is unknown, a preview shows an update. */
const PLACES = ["zoneId", "accountId", "namespaceId"];

/** Finds resources of any provider that the plan replaces or deletes, and ours that the update may replace. */
export const general: Judge = ({ step, old, new: next }) => {
  if (!step.custom) return []; // A component only groups other resources.
  if (isReplaced(step)) {
    const why =
      step.replaceReasons.length === 0
        ? words("")
        : say` because of ${joined(step.replaceReasons.map(value))}`;
    return [["replace", say`is replaced${why}`]];
  }
  const open = PLACES.filter((name) => hasUnknown(next.inputs[name]) && !hasUnknown(old.inputs[name]));
  if (step.kind !== undefined && step.op === "update" && open.length > 0)
    return [["replace", say`may be replaced: the preview doesn't know ${joined(open.map(value))}`]];
  if (!isDeleted(step) || old.retained) return [];
  return [["delete", words("is deleted")]];
};
