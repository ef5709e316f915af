/** What every run needs: providers, a journal, an executor, and a server for the child processes. */
import { AlreadyReported, EXIT, type ExitCode } from "./errors";
import type { Events } from "./events";
import { Executor, type Counts } from "./execute";
import { Journal } from "./journal";
import { Providers } from "./lifecycle";
import type { LineHandlers } from "./children";
import { serveEngine, type EngineServer, type Registrar } from "./monitor";
import type { Config, Project } from "./project";
import type { Deployment } from "./state";
import type { Targets } from "./targets";
import { isRootStack } from "./urn";
import type { ValueMap } from "./values";

export interface Run {
  readonly project: Project;
  readonly stack: string;
  readonly config: Config;
  /** The state before the run. It's changed in place, so a preview needs its own copy. */
  readonly base: Deployment;
  readonly dryRun: boolean;
  readonly parallel: number;
  readonly targets: Targets;
  readonly env: NodeJS.ProcessEnv;
  readonly events: Events;
  /** Writes the state. Not called in a preview. */
  readonly save: (deployment: Deployment) => Promise<void>;
  /** Stops the run when it aborts. Running steps finish first. */
  readonly signal: AbortSignal;
}

export interface Outcome {
  readonly counts: Counts;
  /** The stack's outputs after the run. */
  readonly outputs: ValueMap | undefined;
  readonly oldOutputs: ValueMap | undefined;
}

export interface RunContext {
  readonly run: Run;
  readonly providers: Providers;
  /** The journal. Undefined in a preview. */
  readonly journal: Journal | undefined;
  readonly executor: Executor;
  readonly server: EngineServer;
}

export interface Operation {
  /** Serves the program. Undefined if the run doesn't have a program. */
  readonly registrar?: Registrar & { stopped(): void };
  readonly isRefresh?: boolean;
}

export async function withRunContext(
  run: Run,
  operation: Operation,
  work: (context: RunContext) => Promise<Outcome>,
): Promise<Outcome> {
  const { registrar, isRefresh = false } = operation;
  const server = await serveEngine(run.events, registrar);
  const hostRun = {
    project: run.project,
    engineAddress: server.address,
    env: run.env,
    lines: diagnosticLines(run.events),
  };
  const providers = new Providers(hostRun, run.dryRun);
  const journal = run.dryRun ? undefined : new Journal(run.base, run.save);
  const executor = new Executor(
    { dryRun: run.dryRun, parallel: run.parallel, continueOnError: isRefresh, reportsDrift: isRefresh },
    providers,
    journal,
    run.events,
    () => registrar?.stopped(),
  );
  const stop = (): void => executor.stop();
  run.signal.addEventListener("abort", stop);
  if (run.signal.aborted) stop();
  try {
    if (registrar !== undefined || run.base.resources.some(({ custom }) => custom)) providers.warmUp();
    return await work({ run, providers, journal, executor, server });
  } finally {
    run.signal.removeEventListener("abort", stop);
    await executor.idle();
    await journal?.commit();
    await providers.stop();
    server.close();
  }
}

/** Reports output of the program and the host. As in the CLI, it appears with the stack. */
export function diagnosticLines(events: Events): LineHandlers {
  return {
    out: (line) => events.diagnostic({ urn: "", severity: "info", message: `${line}\n` }),
    error: (line) => events.diagnostic({ urn: "", severity: "info#err", message: `${line}\n` }),
  };
}

/** Returns the run's outcome, or throws if it failed. */
export function finishRun({ executor, run }: RunContext, sawError = false): Outcome {
  refuseUnknownTargets(run, executor);
  const kind = run.dryRun ? "preview" : "update";
  const stack = [...executor.newStates.values()].find(({ urn }) => isRootStack(urn));
  const old = run.base.resources.find(({ urn }) => isRootStack(urn));
  const outcome = { counts: executor.counts, outputs: stack?.outputs, oldOutputs: old?.outputs };
  const isFailed = executor.failed || sawError;
  if (!isFailed && !executor.stopping) return outcome;
  const message = `${kind} ${isFailed ? "failed" : "canceled"}`;
  if (executor.hasFailedStep || !executor.failed)
    run.events.diagnostic({ urn: "", severity: "error", message });
  throw new Failed(outcome, message);
}

function refuseUnknownTargets(run: Run, executor: Executor): void {
  const known = new Set([...run.base.resources.map(({ urn }) => urn), ...executor.newStates.keys()]);
  for (const urn of run.targets.named.filter((each) => !known.has(each))) {
    const message = `Target '${urn}' could not be found in the stack. Did you forget to escape $ in your shell?`;
    run.events.diagnostic({ urn: "", severity: "error", message });
    executor.failed = true;
  }
}

/** Thrown if a run failed and the reasons have already been shown, but not the summary. */
export class Failed extends AlreadyReported {
  constructor(
    readonly outcome: Outcome,
    message: string,
    exitCode: ExitCode = EXIT.failed,
  ) {
    super(message, exitCode);
  }
}
