import { PLAIN } from "../../runtime/settings";
import { PROVIDER_TYPES } from "../../runtime/type-tokens";
import { joined, say, value, words } from "../phrase";
import { isDeleted, isNew, isReplaced, oncePerPlan, unknownPlaces, type StepView } from "../sections/section";
import { cell, isHidden } from "../values";
import { isUnchanged, type Judge, type Side } from "./sides";

/** Finds resources of any provider that the plan replaces or deletes, ours that the update may replace, and another API. */
export const general: Judge = (all) => {
  const { step, old } = all;
  if (PROVIDER_TYPES.includes(step.type)) return isDeleted(step) ? [] : otherApi(all);
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

/** Finds a provider that uses another API than before or, if it's new, than the stack's providers used before. */
const otherApi = ({ step, old, new: next, plan }: StepView): ReturnType<Judge> => {
  const [from, to] = [apiOf(old), apiOf(next)];
  const isKnown = isNew(step) ? knownApis(plan).has(to) && !isHidden(to) : isUnchanged(from, to);
  if (isKnown) return [];
  const before = isNew(step) ? words("") : say`${cell(from, 4_096)} → `;
  const any = words(isHidden(to) ? "; accepting this accepts any value of baseUrl" : "");
  return [
    [
      "unprotect",
      say`sends its credential and all requests to another API: ${before}${cell(to, 4_096)}${any}`,
    ],
  ];
};

/** Returns the API that gets a provider's credential and all requests of its resources. */
const apiOf = ({ inputs }: Side): unknown =>
  inputs["edgeguard:baseUrl"] ?? inputs["baseUrl"] ?? PLAIN.baseUrl.initial;

/** Cloudflare's API, and those that the stack's providers used before. */
const knownApis = oncePerPlan(
  ({ steps }) =>
    new Set([
      PLAIN.baseUrl.initial,
      ...steps.flatMap(({ type, old }) =>
        PROVIDER_TYPES.includes(type) && old !== undefined ? [apiOf(old)] : [],
      ),
    ]),
);
