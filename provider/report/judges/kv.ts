import { say, words } from "../phrase";
import { expiryText } from "../../kv/impact";
import { formatNumber } from "../../limits/workers";
import { sameJson } from "../../basics/json";
import { impactOf, recordedImpact } from "../impact";
import type { Sides } from "../plan";
import { entriesImpact, overwritten, pruned } from "../sections/kv";
import {
  isDeleted,
  isReplaced,
  isSamePlace,
  losesObject,
  othersOf,
  unknownPlaces,
  type StepView,
} from "../sections/section";
import { asNumber, cell, counted } from "../values";
import type { Judge } from "./sides";

/** Finds a namespace that loses its keys. */
export const namespaceData: Judge = (all) => {
  const { old } = all;
  if (!losesObject(all)) return [];
  const title = cell(old.inputs["title"], 60);
  if (isReplaced(all)) {
    const is = words(unknownPlaces(all).length > 0 ? "may be" : "is");
    return [
      ["irreversible", say`namespace ${title} ${is} replaced by a new, empty one; its keys aren't copied`],
    ];
  }
  return old.inputs["forceDestroy"] === true
    ? [["irreversible", say`namespace ${title} is deleted with every key in it (forceDestroy)`]]
    : [
        [
          "irreversible",
          say`namespace ${title} and its ID are deleted, or the update stops halfway if others wrote keys to it`,
        ],
      ];
};

/** Finds deleted or overwritten keys that others wrote, because these can't be recovered. */
const irreversible =
  (keys: typeof overwritten): Judge =>
  (all) => {
    const sentence = isDeleted(all.step) ? undefined : keys(all);
    return sentence === undefined ? [] : [["irreversible", sentence]];
  };

export const prunedKeys = irreversible(pruned);
export const overwrittenKeys = irreversible(overwritten);

/**
 * Finds a KvEntries that deletes or empties many of its own keys, or lets them expire, because a source that lost entries by
 * accident looks like any other update.
 */
export const ownKeysRemoved: Judge = (all, { keys, share }) => {
  const before = asNumber(all.old.inputs["keys"]) ?? 0;
  const { removed, expires, expiry = "", emptied } = entriesImpact(all);
  const isGone = losesObject(all) && !isKept(all);
  const isWritten = !isDeleted(all.step) && !isGone;
  const deleted = isGone ? before : losesObject(all) ? 0 : (removed?.count ?? 0);
  const [expiring, blank] = isWritten ? [expires?.count ?? 0, emptied?.count ?? 0] : [0, 0];
  const sum = deleted + expiring + blank;
  if (sum < keys || sum < share * before) return [];
  const declaring = othersOf(all, ["accountId", "namespaceId"]).some(
    (other) => other.step.op === "create" || (entriesImpact(other).added?.count ?? 0) > 0,
  );
  const unless = declaring ? " unless another resource in the plan declares them" : "";
  const losses = [
    [
      deleted,
      unknownPlaces(all).length > 0
        ? "may be deleted"
        : `${deleted === 1 ? "is deleted" : "are deleted"}${unless}`,
    ],
    [expiring, expiryText(expiring, expiry)],
    [blank, blank === 1 ? "loses its value" : "lose their values"],
  ] as const;
  return losses.flatMap(([count, what]) => {
    if (count === 0) return [];
    const which =
      count < before
        ? `${formatNumber(count)} of ${counted(before, "key")}`
        : count === 1
          ? "the only key"
          : `all ${counted(count, "key")}`;
    return [["removes", words(`${which} that it wrote ${what}`)] as const];
  });
};

/** Whether another resource declares exactly the keys of one that's deleted or replaced, and so keeps them. */
function isKept({ step, old, new: next, plan }: StepView): boolean {
  const keys = recordedImpact(step.kind, step.old)["keys"];
  if (keys === undefined) return false;
  const isSameNamespace = ({ inputs }: Sides): boolean =>
    isSamePlace(old.inputs, inputs, ["accountId", "namespaceId"]);
  return plan.steps.some((other) => {
    if (other.kind !== step.kind || isDeleted(other) || other.new === undefined) return false;
    const side = other === step ? next : other.new;
    const found = other.op === "same" ? recordedImpact(other.kind, other.old) : impactOf(other).members;
    return isSameNamespace(side) && sameJson(found["keys"], keys);
  });
}
