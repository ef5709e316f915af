import { say, words } from "../phrase";
import { overwritten, pruned, removed } from "../sections/kv";
import { isReplaced, leaves, successor } from "../sections/section";
import { cell, counted } from "../values";
import type { Judge } from "./sides";

/** Keys and their values that are lost. */

/** A namespace holds what no program declares. */
export const namespaceData: Judge = (all) => {
  const { step, old } = all;
  if (!leaves(all)) return [];
  const title = cell(old.inputs["title"], 60);
  if (isReplaced(step)) {
    return [
      ["irreversible", say`namespace ${title} is replaced by an empty one; its keys are not carried over`],
    ];
  }
  if (old.inputs["forceDestroy"] !== true) return []; // It is refused while there are keys.
  return successor(all, ["title", "accountId"]) === undefined
    ? [["irreversible", say`namespace ${title} is deleted with every key in it (forceDestroy)`]]
    : []; // Another resource takes it over, or the apply fails before anything is deleted.
};

/** Keys that others wrote. */
export const prunedKeys: Judge = (all) => {
  const found = pruned(all);
  return found === undefined ? [] : [["irreversible", found.sentence]];
};

/** Values that others wrote. */
export const overwrittenKeys: Judge = (all) => {
  const found = overwritten(all);
  return found === undefined ? [] : [["irreversible", found.sentence]];
};

/** A source that lost entries by mistake looks like any other update. */
export const ownKeysRemoved: Judge = (all, { keys, share }) => {
  const { count, before } = removed(all);
  if (count === 0 || count < keys || count < share * before) return [];
  const which =
    count === before
      ? counted(count, "key")
      : `${count.toLocaleString("en-US")} of ${counted(before, "key")}`;
  return [
    [
      "removes",
      words(`${count === before ? "all " : ""}${which} it has written ${count === 1 ? "is" : "are"} deleted`),
    ],
  ];
};
