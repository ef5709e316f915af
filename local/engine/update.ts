/**
 * The operations `preview`, `up` and `destroy`: they create and update what the program declares, and delete the rest.
 */
import { ProgramRegistrar } from "./registrar";
import { AlreadyReported, messageOf } from "./errors";
import { deletionOrder, neededBy } from "./graph";
import {
  finishRun,
  diagnosticLines,
  withRunContext,
  type Operation,
  type RunContext,
  type Outcome,
  type Run,
} from "./run-context";
import { Planner } from "./plan";
import { startProgram } from "./program";
import { refreshBase } from "./refresh";

export async function update(run: Run, options: Options): Promise<Outcome> {
  const registrar = new ProgramRegistrar(run);
  return withPlanner(run, options, { registrar }, async (context, planner) => {
    const program = await registrar.serveProgram(context, planner, () =>
      startProgram({ ...run, address: context.server.address, lines: diagnosticLines(run.events) }),
    );
    await deleteUnregistered(context, planner);
    await registrar.endProgram(program);
  });
}

/** Destroys the stack. This works like an update with an empty program. */
export const destroy = (run: Run, options: Options): Promise<Outcome> =>
  withPlanner(run, options, {}, deleteUnregistered);

interface Options {
  readonly refreshFirst: boolean;
}

function withPlanner(
  run: Run,
  { refreshFirst }: Options,
  operation: Operation,
  work: (context: RunContext, planner: Planner) => Promise<void>,
): Promise<Outcome> {
  return withRunContext(run, operation, async (context) => {
    if (refreshFirst) await refreshBase(context);
    else warnOfPendingOperations(run);
    if (context.executor.stopping) return finishRun(context);
    const { providers } = context;
    const planner = new Planner({ ...run, project: run.project.name, base: run.base.resources, providers });
    await work(context, planner);
    return finishRun(context, planner.sawError);
  });
}

/**
 * Deletes resources that the program didn't register. If the operation failed, deletes none, because the program might
 * have registered more.
 */
async function deleteUnregistered({ executor, run }: RunContext, planner: Planner): Promise<void> {
  if (executor.stopping) return;
  try {
    const { untargeted, deletes } = await planner.planDeletes();
    await executor.submit(untargeted);
    const steps = new Map(deletes.map((step) => [step.old, step]));
    for (const group of deletionOrder([...steps.keys()], run.base.resources)) {
      const kept = neededBy(executor.protectedStates, run.base.resources);
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
    `${list}These resources are in an unknown state because an operation was interrupted while waiting for changes to these resources to complete. ` +
    "You should confirm whether or not the operations listed completed successfully by checking the state of the appropriate provider.\n\n" +
    "Once you have confirmed the status of the interrupted operations, you can repair your stack with a refresh, which clears them. " +
    "Pending creations stay until you run `refresh --clear-pending-creates`.";
  events.diagnostic({ urn: "", severity: "warning", message });
}
