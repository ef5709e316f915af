/** Serves a program: its registrations are planned one at a time, in their order, and carried out side by side. */
import { AlreadyReported, CommandError, messageOf } from "./errors";
import type { Goal } from "./goal";
import { EngineStopped } from "./grpc";
import { providerInputs } from "./lifecycle";
import type { Machinery, Run } from "./machinery";
import type { Registrar } from "./monitor";
import type { Planner } from "./plan";
import type { Program } from "./program";
import type { ResourceState } from "./state";
import type { Registered } from "./steps";
import { defaultProviderUrn, isRootStack, PROVIDER_TYPE, providerReference, type Urn } from "./urn";
import { equalMaps, type ValueMap } from "./values";

/** How long a program may take to notice that its engine is done. */
const PROGRAM_GRACE_MS = 5_000;

/** A promise and the way to keep it. */
class Moment {
  readonly reached: Promise<void>;
  announce: () => void = () => undefined;
  constructor() {
    this.reached = new Promise((resolve) => (this.announce = resolve));
  }
}

export class Conductor implements Registrar {
  readonly #registeredAll = new Moment();
  readonly #halted = new Moment();
  readonly #over = new Moment();
  #stage: { machinery: Machinery; planner: Planner } | undefined;
  #planning: Promise<void> = Promise.resolve();
  readonly #unanswered = new Set<(error: Error) => void>();
  readonly #goals = new Map<Urn, Goal>();
  #defaultProvider: Promise<string> | undefined;
  #stackOutputs: { urn: Urn; outputs: ValueMap } | undefined;
  #isOver = false;
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Ends when the program has registered all it will, or when it is of no use to listen on. */
  async hearOut(machinery: Machinery, planner: Planner, start: () => Program): Promise<Program> {
    this.#stage = { machinery, planner };
    const program = start();
    const failure = await Promise.race([
      this.#registeredAll.reached.then(() => undefined),
      this.#halted.reached.then(() => undefined),
      program.failure,
    ]);
    if (failure !== undefined)
      this.#reportAndStop(failure === "" ? new AlreadyReported("") : new CommandError(failure));
    await this.#planning;
    await machinery.executor.idle();
    return program;
  }

  /** Whatever the program still waits for is not coming. */
  async dismiss(program: Program): Promise<void> {
    await this.#recordStackOutputs();
    this.#isOver = true;
    if (this.#stage?.machinery.executor.failed === true) program.mute();
    this.#over.announce();
    this.#unanswered.forEach((reject) => reject(new EngineStopped()));
    const impatience = setTimeout(() => program.stop(), PROGRAM_GRACE_MS);
    await program.failure;
    clearTimeout(impatience);
  }

  stopped(): void {
    this.#halted.announce();
  }

  async register(goal: Goal): Promise<Registered> {
    const inherited = this.#withInherited(goal);
    const provider = goal.custom ? await this.#defaultProviderReference() : "";
    const registered = await this.#serve({ ...inherited, provider });
    this.#goals.set(registered.state.urn, inherited);
    return registered;
  }

  #withInherited(goal: Goal): Goal {
    const parent = this.#goals.get(goal.parent);
    return {
      ...goal,
      protect: goal.protect ?? parent?.protect,
      retainOnDelete: goal.retainOnDelete ?? parent?.retainOnDelete,
    };
  }

  /** Registered with the first dynamic resource. All of the stack's configuration goes to it. */
  #defaultProviderReference(): Promise<string> {
    const { config, project, stack } = this.#run;
    this.#defaultProvider ??= this.#serve({
      type: PROVIDER_TYPE,
      name: "default",
      custom: true,
      inputs: providerInputs(config),
      parent: "",
      provider: "",
      protect: undefined,
      retainOnDelete: undefined,
      deleteBeforeReplace: undefined,
      dependencies: [],
      propertyDependencies: {},
      ignoreChanges: [],
      replaceOnChanges: [],
      additionalSecretOutputs: [],
      aliases: [],
      sourcePosition: "",
      stackTrace: [],
    }).then(({ state }) => providerReference(defaultProviderUrn(stack, project.name), state.id));
    return this.#defaultProvider;
  }

  #serve(goal: Goal): Promise<Registered> {
    if (this.#isOver) return Promise.reject(new EngineStopped());
    return new Promise<Registered>((resolve, reject) => {
      this.#unanswered.add(reject);
      const answer = (registered: Registered): void => {
        this.#unanswered.delete(reject);
        resolve(registered);
      };
      this.#planning = this.#planning.then(() => this.#planAndSubmit(goal, answer));
    });
  }

  async #planAndSubmit(goal: Goal, answer: (registered: Registered) => void): Promise<void> {
    if (this.#stage === undefined || this.#stage.machinery.executor.stopping) return;
    const { machinery, planner } = this.#stage;
    try {
      const steps = await planner.plan(goal, answer);
      void machinery.executor.submit(steps);
    } catch (error) {
      this.#reportAndStop(error);
    }
  }

  async registerOutputs(urn: Urn, outputs: ValueMap): Promise<void> {
    if (isRootStack(urn)) {
      this.#stackOutputs = { urn, outputs };
      return;
    }
    const state = this.#stage?.machinery.executor.news.get(urn);
    if (state === undefined) {
      throw new CommandError(`cannot complete a resource '${urn}' whose registration isn't pending`);
    }
    await this.#setOutputs(state, outputs);
  }

  /** After a failure, an output that was not set says nothing: the old one is kept. */
  async #recordStackOutputs(): Promise<void> {
    if (this.#stackOutputs === undefined || this.#stage === undefined) return;
    const { urn, outputs } = this.#stackOutputs;
    const { executor } = this.#stage.machinery;
    const state = executor.news.get(urn);
    if (state === undefined) return;
    const isIncomplete = executor.failed || executor.stopping || this.#stage.planner.sawError;
    await this.#setOutputs(state, isIncomplete ? { ...state.outputs, ...outputs } : outputs);
  }

  async #setOutputs(state: ResourceState, outputs: ValueMap): Promise<void> {
    if (equalMaps(state.outputs ?? {}, outputs)) return;
    state.outputs = outputs;
    await this.#stage?.machinery.journal?.commit();
  }

  async programIsDone(): Promise<void> {
    this.#registeredAll.announce();
    await this.#over.reached;
  }

  async refuse(error: unknown): Promise<never> {
    this.#reportAndStop(error);
    await this.#over.reached;
    throw new EngineStopped();
  }

  #reportAndStop(error: unknown): void {
    if (!(error instanceof AlreadyReported)) {
      this.#run.events.diagnostic({ urn: "", severity: "error", message: messageOf(error) });
    }
    const executor = this.#stage?.machinery.executor;
    if (executor === undefined) return;
    executor.failed = true;
    executor.stop();
  }
}
