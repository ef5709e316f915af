/** Whether a resource changes, and whether it must be replaced for it. */
import { changedKeys, detailed, diffMaps, type DetailedDiff } from "./diff";
import type { Lifecycle } from "./lifecycle";
import { covers, parsePath } from "./paths";
import type { ResourceState } from "./state";
import { unwrapSecretsIn, type ValueMap } from "./values";

export interface Difference {
  readonly changes: boolean;
  readonly replaceKeys: readonly string[];
  readonly changedKeys: readonly string[];
  readonly detailedDiff: DetailedDiff | undefined;
  readonly deleteBeforeReplace: boolean;
}

/** Where a provider does not say whether something changed, the inputs are compared. */
export async function differenceOf(
  lifecycle: Lifecycle,
  state: ResourceState,
  oldInputs: ValueMap,
  oldOutputs: ValueMap,
  news: ValueMap,
): Promise<Difference> {
  const answer = await lifecycle.diff(state, oldInputs, oldOutputs, news);
  const { replaceKeys, deleteBeforeReplace } = answer;
  if (answer.changes !== "unknown") {
    return {
      changes: answer.changes === "some",
      replaceKeys,
      changedKeys: answer.changedKeys,
      detailedDiff: undefined,
      deleteBeforeReplace,
    };
  }
  const changes = diffMaps(unwrapSecretsIn(oldInputs), unwrapSecretsIn(news));
  return {
    changes: changes.length > 0,
    replaceKeys,
    changedKeys: changes.length > 0 ? changedKeys(changes) : answer.changedKeys,
    detailedDiff: changes.length > 0 ? detailed(changes) : undefined,
    deleteBeforeReplace,
  };
}

const INIT_ERRORS = "#initerror";

/** A changed key that replaceOnChanges covers replaces, whatever the provider thinks of it. */
export function withReplaceOnChanges(
  found: Difference,
  paths: readonly string[],
  hasInitErrors: boolean,
): Difference {
  if (!found.changes && !hasInitErrors) return found;
  const parsed = paths.map(parsePath).filter((path) => path !== undefined);
  const isCovered = (text: string): boolean => {
    const path = parsePath(text);
    return path !== undefined && parsed.some((outer) => covers(outer, path));
  };
  const forcesAnew = hasInitErrors && isCovered(INIT_ERRORS);
  const replaceKeys = [
    ...new Set([
      ...found.replaceKeys,
      ...found.changedKeys.filter(isCovered),
      ...(forcesAnew ? [INIT_ERRORS] : []),
    ]),
  ];
  return {
    ...found,
    changes: found.changes || forcesAnew,
    replaceKeys,
    detailedDiff:
      found.detailedDiff &&
      Object.fromEntries(
        Object.entries(found.detailedDiff).map(([path, each]) => [
          path,
          isCovered(path) ? { ...each, kind: `${each.kind}-replace` } : each,
        ]),
      ),
  };
}
