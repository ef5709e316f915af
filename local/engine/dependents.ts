/** Finds resources that must be deleted along with one that's deleted before it's replaced. */
import { differenceOf } from "./difference";
import { dependentsOf } from "./graph";
import type { Providers } from "./lifecycle";
import type { ResourceState } from "./state";
import { isProviderType, type Urn } from "./urn";
import { Unknown, type ValueMap } from "./values";

interface DependentToReplace {
  readonly state: ResourceState;
  /** The inputs that require the resource's replacement. */
  readonly keys: readonly string[];
}

/**
 * Returns the resources that must be replaced because their inputs come from a replaced resource. They're in the
 * state's order. Resources in `settled` are already planned, so they're skipped.
 */
export async function dependentsToReplace(
  root: ResourceState,
  all: readonly ResourceState[],
  settled: ReadonlySet<Urn>,
  providers: Providers,
): Promise<DependentToReplace[]> {
  const replaced = new Set([root.urn]);
  const found: DependentToReplace[] = [];
  const olds = new Map(all.map((state) => [state.urn, state]));
  for (const state of dependentsOf(root, all, settled)) {
    if (!state.custom || isProviderType(state.type)) continue;
    const news = withUnknownsFrom(state, replaced);
    if (news === undefined) continue;
    await providers.ensure(state.provider, olds);
    const provider = providers.get(state.provider);
    const { replaceKeys } = await differenceOf(provider, state, state.inputs, state.outputs ?? {}, news);
    if (replaceKeys.length === 0) continue;
    replaced.add(state.urn);
    found.push({ state, keys: replaceKeys });
  }
  return found;
}

/**
 * Returns a resource's inputs, with unknown values instead of those that come from replaced resources. Undefined if
 * none do.
 */
function withUnknownsFrom(state: ResourceState, replaced: ReadonlySet<Urn>): ValueMap | undefined {
  const isFromReplaced = (key: string): boolean =>
    (state.propertyDependencies[key] ?? []).some((urn) => replaced.has(urn));
  const fromReplaced = Object.keys(state.inputs).filter(isFromReplaced);
  if (fromReplaced.length === 0) return undefined;
  return { ...state.inputs, ...Object.fromEntries(fromReplaced.map((key) => [key, Unknown.value])) };
}
