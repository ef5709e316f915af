/** preview, up and destroy: what the program wants is made; what it does not mention goes. */
import { Conductor } from "./conductor";
import { AlreadyReported, messageOf } from "./errors";
import { deletionOrder, neededBy } from "./graph";
import { finish, linesOf, withMachinery, type Machinery, type Outcome, type Run } from "./machinery";
import { Planner } from "./plan";
import { startProgram } from "./program";
import { refreshBase } from "./refresh";

export async function update(run: Run, options: { refreshFirst: boolean }): Promise<Outcome> {
  const conductor = new Conductor(run);
  return withMachinery(run, { registrar: conductor }, async (machinery) => {
    if (options.refreshFirst) await refreshBase(machinery);
    else warnOfPendingOperations(run);
    if (machinery.executor.stopping) return finish(machinery);
    const planner = plannerFor(machinery);
    const program = await conductor.hearOut(machinery, planner, () =>
      startProgram({
        ...run,
        engineAddress: machinery.server.address,
        monitorAddress: machinery.server.address,
        lines: linesOf(run.events),
      }),
    );
    await deleteUnregistered(machinery, planner);
    await conductor.dismiss(program);
    return finish(machinery, planner.sawError);
  });
}

/** A program that registers nothing. */
export async function destroy(run: Run, options: { refreshFirst: boolean }): Promise<Outcome> {
  return withMachinery(run, {}, async (machinery) => {
    if (options.refreshFirst) await refreshBase(machinery);
    else warnOfPendingOperations(run);
    if (machinery.executor.stopping) return finish(machinery);
    const planner = plannerFor(machinery);
    await deleteUnregistered(machinery, planner);
    return finish(machinery, planner.sawError);
  });
}

function plannerFor({ run, providers }: Machinery): Planner {
  return new Planner({ ...run, project: run.project.name, base: run.base.resources, providers });
}

/** An operation that has failed deletes nothing: it does not know what the program would still have registered. */
async function deleteUnregistered({ executor, run }: Machinery, planner: Planner): Promise<void> {
  if (executor.stopping) return;
  try {
    const { untargeted, deletes } = await planner.planDeletes();
    await executor.submit(untargeted);
    const steps = new Map(deletes.map((step) => [step.old, step]));
    for (const group of deletionOrder([...steps.keys()], run.base.resources)) {
      const kept = neededBy(executor.spared, run.base.resources);
      const free = group.filter((state) => !kept.has(state));
      await executor.submitAll(free.map((state) => steps.get(state)).filter((step) => step !== undefined));
    }
  } catch (error) {
    if (!(error instanceof AlreadyReported)) {
      run.events.diagnostic({ urn: "", severity: "error", message: messageOf(error) });
    }
    executor.fail();
  }
}

function warnOfPendingOperations({ base, dryRun, events }: Run): void {
  const pending = base.pendingOperations;
  if (pending.length === 0 || dryRun) return;
  const list = pending
    .map(({ resource, type }) => `  * ${resource.urn}, interrupted while ${type}\n`)
    .join("");
  const message =
    `Attempting to deploy or update resources with ${pending.length} pending operations from previous deployment.\n` +
    `${list}These resources are in an unknown state because an operation was interrupted while waiting for changes ` +
    "to these resources to complete. You should confirm whether or not the operations listed completed successfully " +
    "by checking the state of the appropriate provider.\n\nOnce you have confirmed the status of the interrupted " +
    "operations, you can repair your stack with a refresh, which clears them. Pending creations stay until " +
    "`refresh --clear-pending-creates` drops them.";
  events.diagnostic({ urn: "", severity: "warning", message });
}
