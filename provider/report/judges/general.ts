import { sameJson } from "../../basics/json";
import { PLAIN } from "../../runtime/settings";
import { PROVIDER_TYPES } from "../../runtime/type-tokens";
import { joined, say, value, words, type Phrase } from "../phrase";
import { isDeleted, isReplaced, unknownPlaces } from "../sections/section";
import { cell } from "../values";
import type { Judge, Side } from "./sides";

/** Finds resources of any provider that the plan replaces or deletes, ours that the update may replace, and another API. */
export const general: Judge = (all) => {
  const { step, old } = all;
  if (PROVIDER_TYPES.includes(step.type)) {
    const [from, to] = [apiOf(old), apiOf(all.new)];
    return isDeleted(step) || sameJson(from, to)
      ? []
      : [["unprotect", say`sends its credential and all requests to another API: ${from} → ${to}`]];
  }
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
  if (!isDeleted(step) || old.retained) return [];
  return [["delete", words("is deleted")]];
};

/** Returns the API that gets a provider's credential and all requests of its resources. */
const apiOf = ({ inputs }: Side): Phrase =>
  cell(inputs["edgeguard:baseUrl"] ?? inputs["baseUrl"] ?? PLAIN.baseUrl.initial, 4_096);
