/** Reads every resource again, and records the result in the state. */
import { finishRun, withRunContext, type RunContext, type Outcome, type Run } from "./run-context";
import { Executor } from "./execute";
import type { ResourceState } from "./state";
import type { RefreshStep } from "./steps";
import type { Urn } from "./urn";

export async function refresh(run: Run): Promise<Outcome> {
  return withRunContext(run, { isRefresh: true }, async (context) => {
    await refreshWith(context.executor, context);
    return finishRun(context);
  });
}

/** Refreshes the state before an update. Reads aren't counted, and a failed read ends the operation. */
export async function refreshBase(context: RunContext): Promise<void> {
  const { run, providers, journal, executor } = context;
  const options = { dryRun: run.dryRun, parallel: run.parallel, continueOnError: true, reportsDrift: false };
  const reader = new Executor(options, providers, journal, run.events, () => undefined);
  await refreshWith(reader, context);
  if (reader.failed) executor.fail();
}

/** Rewrites the run's base state in memory. The journal saves it with its next write. */
async function refreshWith(executor: Executor, { run, providers }: RunContext): Promise<void> {
  const olds = new Map(
    run.base.resources.filter((state) => !state.delete).map((state) => [state.urn, state]),
  );
  const steps = new Map<ResourceState, RefreshStep>();
  for (const state of run.base.resources.filter(({ urn }) => run.targets.includes(urn))) {
    await providers.ensure(state.provider, olds);
    steps.set(state, { op: "refresh", old: state, new: state, hasDrifted: false });
  }
  await executor.submitAll([...steps.values()]);
  const rebuilt = run.base.resources.flatMap((state) => {
    const step = steps.get(state);
    const current = step === undefined ? state : step.new;
    return current === undefined ? [] : [current];
  });
  dropDanglingReferences(rebuilt);
  run.base.resources.splice(0, Infinity, ...rebuilt);
  run.base.pendingOperations = run.base.pendingOperations.filter(({ type }) => type === "creating");
}

/** Drops references to resources that no longer exist. */
function dropDanglingReferences(resources: readonly ResourceState[]): void {
  const seen = new Set<Urn>();
  const exists = (urn: Urn): boolean => seen.has(urn);
  for (const state of resources) {
    state.dependencies = state.dependencies.filter(exists);
    state.propertyDependencies = Object.fromEntries(
      Object.entries(state.propertyDependencies)
        .map(([key, urns]): [string, Urn[]] => [key, urns.filter(exists)])
        .filter(([, urns]) => urns.length > 0),
    );
    if (!exists(state.parent)) state.parent = "";
    seen.add(state.urn);
  }
}
