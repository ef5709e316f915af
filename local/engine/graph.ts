/** Determines dependencies between resources from the state's order and references. */
import type { ResourceState } from "./state";
import { providerUrnOf, type Urn } from "./urn";

/** Returns everything that a resource needs, except its parent. */
function referencesOf(state: ResourceState): Set<Urn> {
  const urns = new Set([...state.dependencies, ...Object.values(state.propertyDependencies).flat()]);
  if (state.provider !== "") urns.add(providerUrnOf(state.provider));
  return urns;
}

/** Returns the resources that depend on `root`, directly or indirectly, in the state's order. */
export function dependentsOf(
  root: ResourceState,
  all: readonly ResourceState[],
  ignored: ReadonlySet<Urn>,
  withChildren = false,
): ResourceState[] {
  const reached = new Set([root.urn]);
  const dependents: ResourceState[] = [];
  for (const candidate of all.slice(all.indexOf(root) + 1)) {
    if (ignored.has(candidate.urn)) continue;
    const isChild = withChildren && reached.has(candidate.parent);
    if (!isChild && ![...referencesOf(candidate)].some((urn) => reached.has(urn))) continue;
    reached.add(candidate.urn);
    dependents.push(candidate);
  }
  return dependents;
}

/** Returns a resource's dependencies. Depending on a component means depending on everything inside it. */
function dependenciesOf(state: ResourceState, all: readonly ResourceState[]): Set<ResourceState> {
  const wanted = referencesOf(state);
  const before = all.slice(0, all.indexOf(state));
  const inside = new Set(
    before.filter(({ urn, custom }) => wanted.has(urn) && !custom).map(({ urn }) => urn),
  );
  const found = new Set<ResourceState>();
  for (const candidate of before) {
    if (inside.has(candidate.parent)) inside.add(candidate.urn);
    if (wanted.has(candidate.urn) || candidate.urn === state.parent || inside.has(candidate.urn))
      found.add(candidate);
  }
  return found;
}

/** Returns the given resources and all of their dependencies. */
export function neededBy(
  roots: ReadonlySet<ResourceState>,
  all: readonly ResourceState[],
): Set<ResourceState> {
  const needed = new Set(roots);
  for (const state of [...all].reverse()) {
    if (needed.has(state)) dependenciesOf(state, all).forEach((each) => needed.add(each));
  }
  return needed;
}

/** Returns groups of resources that can be deleted in parallel, each group before its dependencies. */
export function deletionOrder(
  deleted: readonly ResourceState[],
  all: readonly ResourceState[],
): ResourceState[][] {
  const left = new Set(deleted);
  const dependencies = new Map(deleted.map((state) => [state, dependenciesOf(state, all)]));
  const groups: ResourceState[][] = [];
  while (left.size > 0) {
    const free = [...left].filter(
      (state) => ![...(dependencies.get(state) ?? [])].some((each) => left.has(each)),
    );
    if (free.length === 0) throw new Error("the state's dependencies form a cycle");
    free.forEach((state) => left.delete(state));
    groups.unshift(free);
  }
  return groups;
}
