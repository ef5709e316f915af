/** Decides whether a resource changes, and whether that replaces it. */
import { isDeepStrictEqual } from "node:util";
import type { Lifecycle } from "./lifecycle";
import type { DiffResult } from "./provider";
import type { ResourceState } from "./state";
import { toPlainMap, type ValueMap } from "./values";

export type Difference = Omit<DiffResult, "changes"> & { readonly changes: boolean };

/** Returns a resource's changes. Compares the inputs if the provider doesn't say whether anything changed. */
export async function differenceOf(
  lifecycle: Lifecycle,
  state: ResourceState,
  oldInputs: ValueMap,
  oldOutputs: ValueMap,
  news: ValueMap,
): Promise<Difference> {
  const result = await lifecycle.diff(state, oldInputs, oldOutputs, news);
  const changes =
    result.changes === "unknown"
      ? !isDeepStrictEqual(toPlainMap(oldInputs), toPlainMap(news))
      : result.changes === "some";
  return { ...result, changes };
}
