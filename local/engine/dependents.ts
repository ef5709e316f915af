/** Who cannot outlive a resource that is deleted before its replacement is made. */
import { differenceOf, withReplaceOnChanges } from "./difference";
import { dependentsOf } from "./graph";
import type { Providers } from "./lifecycle";
import type { ResourceState } from "./state";
import { isProviderType, type Urn } from "./urn";
import { Unknown, type ValueMap } from "./values";

interface Casualty {
  readonly state: ResourceState;
  /** The inputs for which it must be replaced. */
  readonly keys: readonly string[];
}

/**
 * In the order of the state: those that would be replaced if the inputs they take from what is replaced were to
 * change. `settled` have been planned already, so they cannot depend on it any more.
 */
export async function casualtiesOf(
  root: ResourceState,
  all: readonly ResourceState[],
  settled: ReadonlySet<Urn>,
  providers: Providers,
): Promise<Casualty[]> {
  const replaced = new Set([root.urn]);
  const found: Casualty[] = [];
  const olds = new Map(all.map((state) => [state.urn, state]));
  for (const state of dependentsOf(root, all, settled)) {
    if (!state.custom || isProviderType(state.type)) continue;
    const news = withUnknownsFrom(state, replaced);
    if (news === undefined) continue;
    await providers.ensure(state.provider, olds);
    const provider = providers.get(state.provider);
    const difference = await differenceOf(provider, state, state.inputs, state.outputs ?? {}, news);
    const { replaceKeys } = withReplaceOnChanges(difference, state.replaceOnChanges, false);
    if (replaceKeys.length === 0) continue;
    replaced.add(state.urn);
    found.push({ state, keys: replaceKeys });
  }
  return found;
}

/** Undefined where no input comes from what is replaced. */
function withUnknownsFrom(state: ResourceState, replaced: ReadonlySet<Urn>): ValueMap | undefined {
  const isFed = (key: string): boolean =>
    (state.propertyDependencies[key] ?? []).some((urn) => replaced.has(urn));
  const fed = Object.keys(state.inputs).filter(isFed);
  if (fed.length === 0) return undefined;
  return { ...state.inputs, ...Object.fromEntries(fed.map((key) => [key, Unknown.value])) };
}
