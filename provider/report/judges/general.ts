import { sameJson } from "../../basics/json";
import { PLAIN } from "../../runtime/settings";
import { PROVIDER_TYPES } from "../../runtime/type-tokens";
import { joined, say, value, words } from "../phrase";
import { heirOf, isDeleted, isReplaced, unknownPlaces, type StepView } from "../sections/section";
import { cell } from "../values";
import type { Judge } from "./sides";

/** Finds resources of any provider that the plan replaces or deletes, and ours that the update may replace. */
export const general: Judge = (all) => {
  const { step, old } = all;
  if (PROVIDER_TYPES.includes(step.type)) return otherApi(all);
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

/** Finds a provider that sends its credential, and the requests of its resources, to another API than before. */
const otherApi = ({ step, old, new: next }: StepView): ReturnType<Judge> => {
  const [was, is] = [old, next].map(
    ({ inputs }) => inputs["edgeguard:baseUrl"] ?? inputs["baseUrl"] ?? PLAIN.baseUrl.initial,
  );
  if (isDeleted(step) || sameJson(was, is)) return [];
  const [from, to] = [cell(was, 4_096), cell(is, 4_096)];
  return [["unprotect", say`sends its credential and all requests to another API: ${from} → ${to}`]];
};
