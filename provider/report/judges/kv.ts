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

/** What the preview says of keys that others wrote: nothing brings them back. */
const lost =
  (keys: typeof pruned): Judge =>
  (all) => {
    const found = keys(all);
    return found === undefined ? [] : [["irreversible", found.sentence]];
  };

export const prunedKeys = lost(pruned);
export const overwrittenKeys = lost(overwritten);

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
