/** Decides whether a resource changes, and whether that replaces it. */
import { changedKeys, detailed, diffMaps, type DetailedDiff } from "./diff";
import type { Lifecycle } from "./lifecycle";
import type { ResourceState } from "./state";
import { unwrapSecretsIn, type ValueMap } from "./values";

export interface Difference {
  readonly changes: boolean;
  readonly replaceKeys: readonly string[];
  readonly changedKeys: readonly string[];
  readonly detailedDiff: DetailedDiff | undefined;
  readonly deleteBeforeReplace: boolean;
}

/** Returns a resource's changes. Compares the inputs if the provider doesn't say whether anything changed. */
export async function differenceOf(
  lifecycle: Lifecycle,
  state: ResourceState,
  oldInputs: ValueMap,
  oldOutputs: ValueMap,
  news: ValueMap,
): Promise<Difference> {
  const result = await lifecycle.diff(state, oldInputs, oldOutputs, news);
  const { replaceKeys, deleteBeforeReplace } = result;
  if (result.changes !== "unknown") {
    return {
      changes: result.changes === "some",
      replaceKeys,
      changedKeys: result.changedKeys,
      detailedDiff: undefined,
      deleteBeforeReplace,
    };
  }
  const changes = diffMaps(unwrapSecretsIn(oldInputs), unwrapSecretsIn(news));
  return {
    changes: changes.length > 0,
    replaceKeys,
    changedKeys: changes.length > 0 ? changedKeys(changes) : result.changedKeys,
    detailedDiff: changes.length > 0 ? detailed(changes) : undefined,
    deleteBeforeReplace,
  };
}
