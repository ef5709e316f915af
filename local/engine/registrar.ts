/** Serves a program: plans its registrations one at a time, in order, and runs their steps in parallel. */
import { RegisterResourceRequest } from "@pulumi/pulumi/proto/resource_pb";
import { AlreadyReported, CommandError, messageOf } from "./errors";
import { goalOf, type Goal } from "./goal";
import { EngineStopped } from "./grpc";
import { providerInputs } from "./lifecycle";
import type { RunContext, Run } from "./run-context";
import type { Registrar } from "./monitor";
import type { Planner } from "./plan";
import type { Program } from "./program";
import type { ResourceState } from "./state";
import type { Registered } from "./steps";
import {
  defaultProviderUrn,
  isProviderType,
  isRootStack,
  PROVIDER_TYPE,
  providerReference,
  type Urn,
} from "./urn";
import { equalMaps, type ValueMap } from "./values";

/** How long a program may take to end after the engine is done, in milliseconds. */
const PROGRAM_GRACE_MS = 5_000;

class Deferred {
  readonly promise: Promise<void>;
  resolve: () => void = () => undefined;
  constructor() {
    this.promise = new Promise((resolve) => (this.resolve = resolve));
  }
}

export class ProgramRegistrar implements Registrar {
  readonly #registeredAll = new Deferred();
  readonly #halted = new Deferred();
  readonly #ended = new Deferred();
  #active: { context: RunContext; planner: Planner } | undefined;
  #planning: Promise<void> = Promise.resolve();
  readonly #pendingRequests = new Set<(error: Error) => void>();
  readonly #goals = new Map<Urn, Goal>();
  #defaultProvider: Promise<string> | undefined;
  #stackOutputs: { urn: Urn; outputs: ValueMap } | undefined;
  #hasEnded = false;

  constructor(readonly run: Run) {}

  /** Serves the program. Resolves when it has registered all its resources, has failed, or was stopped. */
  async serveProgram(context: RunContext, planner: Planner, start: () => Program): Promise<Program> {
    this.#active = { context, planner };
    const program = start();
    const failure = await Promise.race([
      this.#registeredAll.promise.then(() => undefined),
      this.#halted.promise.then(() => undefined),
      program.failure,
    ]);
    if (failure !== undefined)
      this.#failRun(failure === "" ? new AlreadyReported("") : new CommandError(failure));
    await this.#planning;
    await context.executor.idle();
    return program;
  }

  /** Rejects the program's pending requests and waits for it to end. */
  async endProgram(program: Program): Promise<void> {
    await this.#recordStackOutputs();
    this.#hasEnded = true;
    if (this.#active?.context.executor.failed === true) program.mute();
    this.#ended.resolve();
    this.#pendingRequests.forEach((reject) => reject(new EngineStopped()));
    const stopTimer = setTimeout(() => program.stop(), PROGRAM_GRACE_MS);
    await program.failure;
    clearTimeout(stopTimer);
  }

  stopped(): void {
    this.#halted.resolve();
  }

  async register(goal: Goal): Promise<Registered> {
    const inherited = this.#withInheritedOptions(goal);
    const provider = await this.#providerOf(goal);
    const registered = await this.#enqueue({ ...inherited, provider });
    this.#goals.set(registered.state.urn, inherited);
    return registered;
  }

  /** Returns the reference of a resource's provider. Empty for components and providers. */
  async #providerOf({ type, custom, provider }: Goal): Promise<string> {
    if (!custom || isProviderType(type)) return "";
    return provider === "" ? this.#defaultProviderReference() : provider;
  }

  #withInheritedOptions(goal: Goal): Goal {
    const parent = this.#goals.get(goal.parent);
    return {
      ...goal,
      protect: goal.protect ?? parent?.protect,
      retainOnDelete: goal.retainOnDelete ?? parent?.retainOnDelete,
    };
  }

  /**
   * Returns the default provider, which is registered with the first dynamic resource. It gets the stack's whole
   * configuration.
   */
  #defaultProviderReference(): Promise<string> {
    const { config, project, stack } = this.run;
    const request = new RegisterResourceRequest().setType(PROVIDER_TYPE).setName("default").setCustom(true);
    const goal = { ...goalOf(request), inputs: providerInputs(config) };
    this.#defaultProvider ??= this.#enqueue(goal).then(({ state }) =>
      providerReference(defaultProviderUrn(stack, project.name), state.id),
    );
    return this.#defaultProvider;
  }

  #enqueue(goal: Goal): Promise<Registered> {
    if (this.#hasEnded) return Promise.reject(new EngineStopped());
    return new Promise<Registered>((resolve, reject) => {
      this.#pendingRequests.add(reject);
      const respond = (registered: Registered): void => {
        this.#pendingRequests.delete(reject);
        resolve(registered);
      };
      this.#planning = this.#planning.then(() => this.#planAndSubmit(goal, respond));
    });
  }

  async #planAndSubmit(goal: Goal, respond: (registered: Registered) => void): Promise<void> {
    if (this.#active === undefined || this.#active.context.executor.stopping) return;
    const { context, planner } = this.#active;
    try {
      const steps = await planner.plan(goal, respond);
      void context.executor.submit(steps);
    } catch (error) {
      this.#failRun(error);
    }
  }

  async registerOutputs(urn: Urn, outputs: ValueMap): Promise<void> {
    if (isRootStack(urn)) {
      this.#stackOutputs = { urn, outputs };
      return;
    }
    const state = this.#active?.context.executor.newStates.get(urn);
    if (state === undefined) {
      throw new CommandError(`cannot complete a resource '${urn}' whose registration isn't pending`);
    }
    await this.#setOutputs(state, outputs);
  }

  /** Records the stack's outputs. After a failure, outputs that weren't set keep their old values. */
  async #recordStackOutputs(): Promise<void> {
    if (this.#stackOutputs === undefined || this.#active === undefined) return;
    const { urn, outputs } = this.#stackOutputs;
    const { executor } = this.#active.context;
    const state = executor.newStates.get(urn);
    if (state === undefined) return;
    const isIncomplete = executor.failed || executor.stopping || this.#active.planner.sawError;
    await this.#setOutputs(state, isIncomplete ? { ...state.outputs, ...outputs } : outputs);
  }

  async #setOutputs(state: ResourceState, outputs: ValueMap): Promise<void> {
    if (equalMaps(state.outputs ?? {}, outputs)) return;
    state.outputs = outputs;
    await this.#active?.context.journal?.commit();
  }

  async waitForEnd(): Promise<void> {
    this.#registeredAll.resolve();
    await this.#ended.promise;
  }

  async refuse(error: unknown): Promise<never> {
    this.#failRun(error);
    await this.#ended.promise;
    throw new EngineStopped();
  }

  #failRun(error: unknown): void {
    if (!(error instanceof AlreadyReported)) {
      this.run.events.diagnostic({ urn: "", severity: "error", message: messageOf(error) });
    }
    const executor = this.#active?.context.executor;
    if (executor === undefined) return;
    executor.failed = true;
    executor.stop();
  }
}
