/** Runs steps: a chain in order, several chains at the same time, each step recorded before and after. */
import { apply, ProtectedError } from "./apply";
import { messageOf } from "./errors";
import type { Events } from "./events";
import type { Journal } from "./journal";
import type { Providers } from "./lifecycle";
import { Unfinished } from "./provider";
import type { ResourceState } from "./state";
import { isLogical, urnOf, type Op, type RefreshStep, type Step } from "./steps";
import { isProviderType, type Urn } from "./urn";
import { equalMaps, Secret, secret } from "./values";

interface ExecutorOptions {
  readonly dryRun: boolean;
  readonly parallel: number;
  /** A refresh goes on when one resource cannot be read; an update starts nothing new after a failure. */
  readonly continueOnError: boolean;
  /** What was read is the result of the operation, not its preparation. */
  readonly reportsDrift: boolean;
}

/** How often each operation was done; what a summary shows. */
export type Counts = Map<Op, number>;

export class Executor {
  readonly counts: Counts = new Map();
  /** What the program's registrations came to. */
  readonly news = new Map<Urn, ResourceState>();
  failed = false;
  /** What could not be deleted because it is protected: the others are tried all the same. */
  readonly spared = new Set<ResourceState>();
  /** A step failed, rather than the plan or the program. */
  hasFailedStep = false;
  stopping = false;
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #chains = new Set<Promise<void>>();

  readonly #options: ExecutorOptions;
  readonly #providers: Providers;
  readonly #journal: Journal | undefined;
  readonly #events: Events;
  readonly #onStop: () => void;

  constructor(
    options: ExecutorOptions,
    providers: Providers,
    /** Undefined in a preview: it records nothing. */
    journal: Journal | undefined,
    events: Events,
    /** Called once when the first step fails or a person stops the run. */
    onStop: () => void,
  ) {
    this.#options = options;
    this.#providers = providers;
    this.#journal = journal;
    this.#events = events;
    this.#onStop = onStop;

    this.#free = Math.max(1, options.parallel);
  }

  /** Whatever runs is finished and recorded; nothing else is begun. */
  stop(): void {
    if (this.stopping) return;
    this.stopping = true;
    this.#onStop();
  }

  /** For a failure outside the executor's own steps. */
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
      // Steps report their own failures: what comes here is that the state could not be written.
      this.#events.diagnostic({ urn: "", severity: "error", message: messageOf(error) });
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

  /** False where the chain must not go on. */
  async #run(step: Step): Promise<boolean> {
    const began = performance.now();
    this.#events.before(step);
    await this.#recordIntent(step);
    let problem: unknown;
    try {
      await apply(step, { providers: this.#providers, dryRun: this.#options.dryRun, events: this.#events });
    } catch (error) {
      problem = error;
    }
    if (problem === undefined || problem instanceof Unfinished) this.#settle(step);
    if (problem === undefined) this.#report(step, (performance.now() - began) / 1000);
    else this.#reportFailure(step, problem);
    // What exists after a failed update was not made with the new inputs.
    if (step.op === "update" && problem instanceof Unfinished) step.new.inputs = { ...step.old.inputs };
    await this.#recordResult(step, problem === undefined || problem instanceof Unfinished);
    if (problem !== undefined) {
      this.failed = true;
      this.hasFailedStep = true;
      if (problem instanceof ProtectedError) this.spared.add(problem.state);
      else if (!this.#options.continueOnError) this.stop();
      return false;
    }
    if ("answer" in step) step.answer({ state: step.new, result: "success" });
    return true;
  }

  /** Marks what must be secret, and remembers the state for those who refer to it. */
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
    this.news.set(state.urn, state);
  }

  #report(step: Step, seconds: number): void {
    const isDriftReport = step.op === "refresh" && this.#options.reportsDrift;
    const op = isDriftReport ? this.#driftOf(step) : step.op;
    const isCounted = isDriftReport || isLogical(step);
    if (isCounted && !isInternal(step)) this.counts.set(op, (this.counts.get(op) ?? 0) + 1);
    this.#events.after(step, op, seconds);
  }

  #driftOf(step: RefreshStep): Op {
    if (step.new === undefined) return "delete";
    return step.hasDrifted ? "update" : "same";
  }

  #reportFailure(step: Step, problem: unknown): void {
    const prefix = this.#options.dryRun ? "Preview failed: " : "";
    const urn = isInternal(step) ? "" : urnOf(step);
    this.#events.diagnostic({ urn, severity: "error", message: prefix + messageOf(problem) });
    this.#events.failed(step);
  }

  async #recordIntent(step: Step): Promise<void> {
    switch (step.op) {
      case "create":
      case "create-replacement":
        return this.#journal?.begin(step.new, "creating");
      case "update":
        return this.#journal?.begin(step.new, "updating");
      case "delete":
      case "delete-replaced":
        return this.#journal?.begin(step.old, "deleting");
      case "import":
        return this.#journal?.begin(step.new, "importing");
      case "same":
      case "replace":
      case "refresh":
      case "remove-pending-replace":
        return;
    }
  }

  async #recordResult(step: Step, isDone: boolean): Promise<void> {
    const journal = this.#journal;
    if (journal === undefined) return;
    switch (step.op) {
      case "same":
        if (!isDone || step.old === undefined) return;
        journal.confirmed(step.old, step.new);
        if (isWorthWriting(step.old, step.new)) await journal.commit();
        return;
      case "create":
      case "create-replacement":
        if (!isDone) return journal.abandon(step.new);
        return journal.replaced(step.old?.pendingReplacement ? step.old : undefined, step.new);
      case "update":
        return isDone ? journal.replaced(step.old, step.new) : journal.abandon(step.new);
      case "delete":
      case "delete-replaced":
        return isDone && !step.old.pendingReplacement ? journal.removed(step.old) : journal.abandon(step.old);
      case "remove-pending-replace":
        return isDone ? journal.removed(step.old) : undefined;
      case "import":
        return isDone ? journal.replaced(undefined, step.new) : journal.abandon(step.new);
      case "replace":
      case "refresh":
        return;
    }
  }
}

/** The default provider is the engine's own affair, and so is the end of a half-done replacement. */
export function isInternal(step: Step): boolean {
  return step.op === "remove-pending-replace" || isProviderType(step.new?.type ?? step.old?.type ?? "");
}

/** A "same" step may still carry new options; where lines moved in the source is not worth a write. */
function isWorthWriting(old: ResourceState, current: ResourceState): boolean {
  const options = (state: ResourceState): string =>
    JSON.stringify([
      state.urn,
      state.parent,
      state.provider,
      state.protect,
      state.retainOnDelete,
      [...state.dependencies].sort(),
      state.additionalSecretOutputs,
    ]);
  return (
    options(old) !== options(current) ||
    !equalMaps(old.inputs, current.inputs) ||
    !equalMaps(old.outputs ?? {}, current.outputs ?? {})
  );
}
