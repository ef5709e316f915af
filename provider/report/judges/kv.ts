import { say, words } from "../phrase";
import { formatNumber } from "../../limits/workers";
import { overwritten, pruned, removed } from "../sections/kv";
import { isReplaced, losesObject, successor } from "../sections/section";
import { cell, counted } from "../values";
import type { Judge } from "./sides";

/** Finds a namespace that loses its keys. */
export const namespaceData: Judge = (all) => {
  const { step, old } = all;
  if (!losesObject(all)) return [];
  const title = cell(old.inputs["title"], 60);
  if (isReplaced(step)) {
    return [
      ["irreversible", say`namespace ${title} is replaced by a new, empty one; its keys aren't copied`],
    ];
  }
  if (old.inputs["forceDestroy"] !== true) return []; // The update fails while the namespace still has keys.
  return successor(all, ["title", "accountId"]) === undefined
    ? [["irreversible", say`namespace ${title} is deleted with every key in it (forceDestroy)`]]
    : []; // Another resource adopts it, or the update fails before it deletes anything.
};

/** Finds deleted or overwritten keys that others wrote, because these can't be recovered. */
const irreversible =
  (keys: typeof pruned): Judge =>
  (all) => {
    const found = keys(all);
    return found === undefined ? [] : [["irreversible", found.sentence]];
  };

export const prunedKeys = irreversible(pruned);
export const overwrittenKeys = irreversible(overwritten);

/**
 * Finds a KvEntries that deletes many of its own keys, because a source that lost entries by accident looks like any
 * other update.
 */
export const ownKeysRemoved: Judge = (all, { keys, share }) => {
  const { count, before } = removed(all);
  if (count === 0 || count < keys || count < share * before) return [];
  const which =
    count !== before
      ? `${formatNumber(count)} of ${counted(before, "key")}`
      : count === 1
        ? "the only key"
        : `all ${counted(count, "key")}`;
  return [["removes", words(`${which} that it wrote ${count === 1 ? "is" : "are"} deleted`)]];
};
