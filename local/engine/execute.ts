/** Runs chains of steps: each chain in order, several chains in parallel. Records each step before and after it runs. */
import { apply, ProtectedError } from "./apply";
import { messageOf } from "./errors";
import type { Events } from "./events";
import type { Journal } from "./journal";
import type { Providers } from "./lifecycle";
import { InitFailedError } from "./provider";
import type { OperationType, ResourceState } from "./state";
import { isLogical, subjectOf, urnOf, type Op, type RefreshStep, type Step } from "./steps";
import { isDefaultProvider, type Urn } from "./urn";
import { Secret, secret } from "./values";

interface ExecutorOptions {
  readonly dryRun: boolean;
  readonly parallel: number;
  /**
   * Whether to continue after a failure. A refresh continues if it can't read a resource. An update doesn't start
   * anything new after a failure.
   */
  readonly continueOnError: boolean;
  /** Whether the run is a refresh, rather than an update that refreshes first. */
  readonly reportsDrift: boolean;
}

/** How many times each operation ran, for the summary. */
export type Counts = Map<Op, number>;

export class Executor {
  readonly counts: Counts = new Map();
  /** The resulting states of the program's registrations. */
  readonly newStates = new Map<Urn, ResourceState>();
  failed = false;
  /** Protected resources that weren't deleted. The run still tries to delete the others. */
  readonly protectedStates = new Set<ResourceState>();
  /** Whether a step failed, rather than the plan or the program. */
  hasFailedStep = false;
  stopping = false;
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #chains = new Set<Promise<void>>();

  constructor(
    readonly options: ExecutorOptions,
    readonly providers: Providers,
    /** The journal. Undefined in a preview, which doesn't record anything. */
    readonly journal: Journal | undefined,
    readonly events: Events,
    /** Called once, when the first step fails or the user stops the run. */
    readonly onStop: () => void,
  ) {
    this.#free = Math.max(1, options.parallel);
  }

  /** Stops the run. Running steps finish and are recorded; no others start. */
  stop(): void {
    if (this.stopping) return;
    this.stopping = true;
    this.onStop();
  }

  /** Reports a failure outside the executor's own steps. */
  fail(): void {
    this.failed = true;
    this.hasFailedStep = true;
    this.stop();
  }

  submit(chain: readonly Step[]): Promise<void> {
    const running = this.#runChain(chain);
    this.#chains.add(running);
    void running.finally(() => this.#chains.delete(running));
    return running;
  }

  async submitAll(steps: readonly Step[]): Promise<void> {
    await Promise.all(steps.map((step) => this.submit([step])));
  }

  async idle(): Promise<void> {
    while (this.#chains.size > 0) await Promise.all(this.#chains);
  }

  async #runChain(chain: readonly Step[]): Promise<void> {
    await this.#acquire();
    try {
      for (const step of chain) {
        if (this.stopping || !(await this.#run(step))) return;
      }
    } catch (error) {
      // Steps report their own failures. Only a failed write of the state gets here.
      this.events.diagnostic({ urn: "", severity: "error", message: messageOf(error) });
      this.fail();
    } finally {
      this.#release();
    }
  }

  async #acquire(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }

  /** Runs a step. Returns false if its chain must stop. */
  async #run(step: Step): Promise<boolean> {
    const began = performance.now();
    this.events.before(step);
    await this.#recordIntent(step);
    let problem: unknown;
    try {
      await apply(step, { providers: this.providers, dryRun: this.options.dryRun });
    } catch (error) {
      problem = error;
    }
    if (problem === undefined || problem instanceof InitFailedError) this.#settle(step);
    if (problem === undefined) this.#report(step, (performance.now() - began) / 1000);
    else this.#reportFailure(step, problem);
    // After a failed update, the object doesn't have the new inputs.
    if (step.op === "update" && problem instanceof InitFailedError) step.new.inputs = { ...step.old.inputs };
    await this.#recordResult(step, problem === undefined || problem instanceof InitFailedError);
    if (problem !== undefined) {
      this.failed = true;
      this.hasFailedStep = true;
      if (problem instanceof ProtectedError) this.protectedStates.add(problem.state);
      else if (!this.options.continueOnError) this.stop();
      return false;
    }
    if ("respond" in step) step.respond({ state: step.new, result: "success" });
    return true;
  }

  /** Marks secret outputs, and keeps the state for resources that refer to it. */
  #settle(step: Step): void {
    const state = step.new;
    if (state === undefined || step.op === "replace") return;
    const outputs = state.outputs;
    if (outputs !== undefined) {
      const isSecret = (key: string): boolean =>
        state.additionalSecretOutputs.includes(key) || state.inputs[key] instanceof Secret;
      state.outputs = Object.fromEntries(
        Object.entries(outputs).map(([key, value]) => [key, isSecret(key) ? secret(value) : value]),
      );
    }
    this.newStates.set(state.urn, state);
  }

  #report(step: Step, seconds: number): void {
    const isDriftReport = step.op === "refresh" && this.options.reportsDrift;
    const op = isDriftReport ? this.#driftOf(step) : step.op;
    const isCounted = isDriftReport || isLogical(step);
    if (isCounted && !isInternal(step)) this.counts.set(op, (this.counts.get(op) ?? 0) + 1);
    this.events.after(step, op, seconds);
  }

  #driftOf(step: RefreshStep): Op {
    if (step.new === undefined) return "delete";
    return step.hasDrifted ? "update" : "same";
  }

  #reportFailure(step: Step, problem: unknown): void {
    const prefix = this.options.dryRun ? "Preview failed: " : "";
    const urn = isInternal(step) ? "" : urnOf(step);
    this.events.diagnostic({ urn, severity: "error", message: prefix + messageOf(problem) });
    this.events.failed(step);
  }

  async #recordIntent(step: Step): Promise<void> {
    const intent = INTENTS[step.op];
    if (intent !== undefined) await this.journal?.begin(subjectOf(step), intent);
  }

  async #recordResult(step: Step, isDone: boolean): Promise<void> {
    const journal = this.journal;
    if (journal === undefined) return;
    if (!isDone) return INTENTS[step.op] && journal.abandon(subjectOf(step));
    switch (step.op) {
      case "same":
        if (step.old !== undefined) journal.unchanged(step.old, step.new);
        return;
      case "create":
      case "create-replacement":
      case "update":
      case "import": {
        const isSuperseded = step.op === "update" || step.old?.pendingReplacement === true;
        return journal.replaced(isSuperseded ? step.old : undefined, step.new);
      }
      case "delete":
      case "delete-replaced":
        return step.old.pendingReplacement ? journal.abandon(step.old) : journal.removed(step.old);
      case "remove-pending-replace":
        return journal.removed(step.old);
      case "replace":
      case "refresh":
        return;
    }
  }
}

/** What the journal calls an operation that has begun. Others change nothing by themselves. */
const INTENTS: Readonly<Partial<Record<Op, OperationType>>> = {
  create: "creating",
  "create-replacement": "creating",
  update: "updating",
  delete: "deleting",
  "delete-replaced": "deleting",
  import: "importing",
};

/** Whether a step is hidden from users: one of the default provider, or the end of an interrupted replacement. */
export function isInternal(step: Step): boolean {
  return step.op === "remove-pending-replace" || isDefaultProvider(urnOf(step));
}
