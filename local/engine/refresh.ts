/** Reads every resource of the state again, and takes over what it finds. */
import { finish, withMachinery, type Machinery, type Outcome, type Run } from "./machinery";
import { Executor } from "./execute";
import type { ResourceState } from "./state";
import type { RefreshStep } from "./steps";
import type { Urn } from "./urn";

export async function refresh(run: Run): Promise<Outcome> {
  return withMachinery(run, { isRefresh: true }, async (machinery) => {
    await refreshWith(machinery.executor, machinery);
    return finish(machinery);
  });
}

/** Before an update: what was read is not counted, and what could not be read ends the operation. */
export async function refreshBase(machinery: Machinery): Promise<void> {
  const { run, providers, journal, executor } = machinery;
  const options = { dryRun: run.dryRun, parallel: run.parallel, continueOnError: true, reportsDrift: false };
  const reader = new Executor(options, providers, journal, run.events, () => undefined);
  await refreshWith(reader, machinery);
  if (reader.failed) executor.fail();
}

/** The base of the operation is rewritten in memory; the journal writes it with its next record. */
async function refreshWith(executor: Executor, { run, providers }: Machinery): Promise<void> {
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
  dropDangling(rebuilt);
  run.base.resources.splice(0, Infinity, ...rebuilt);
  run.base.pendingOperations = run.base.pendingOperations.filter(({ type }) => type === "creating");
}

/** References to what is gone. */
function dropDangling(resources: readonly ResourceState[]): void {
  const seen = new Set<Urn>();
  const isThere = (urn: Urn): boolean => seen.has(urn);
  for (const state of resources) {
    state.dependencies = state.dependencies.filter(isThere);
    state.propertyDependencies = Object.fromEntries(
      Object.entries(state.propertyDependencies)
        .map(([key, urns]): [string, Urn[]] => [key, urns.filter(isThere)])
        .filter(([, urns]) => urns.length > 0),
    );
    if (!isThere(state.parent)) state.parent = "";
    seen.add(state.urn);
  }
}
