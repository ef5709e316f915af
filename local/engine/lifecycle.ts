/** The methods that the engine calls to manage a resource, and the providers, which are resources themselves. */
import { randomUUID } from "node:crypto";
import { CommandError } from "./errors";
import { Host, type HostRun } from "./host";
import type { Config } from "./project";
import { DynamicProvider, type CheckFailure, type DiffResult, type CreatedResource } from "./provider";
import type { ResourceState } from "./state";
import { providerReference, providerUrnOf, type Urn } from "./urn";
import { equalMaps, secret, toPlainMap, type ValueMap } from "./values";

export interface Lifecycle {
  check(
    urn: Urn,
    olds: ValueMap,
    news: ValueMap,
  ): Promise<{ inputs: ValueMap; failures: readonly CheckFailure[] }>;
  diff(state: ResourceState, oldInputs: ValueMap, oldOutputs: ValueMap, news: ValueMap): Promise<DiffResult>;
  create(state: ResourceState): Promise<CreatedResource>;
  update(old: ResourceState, state: ResourceState): Promise<ValueMap>;
  delete(state: ResourceState): Promise<void>;
}

/** The ID of a new provider in a preview, where it's unknown. */
const UNKNOWN_ID = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Returns the dynamic resource provider's inputs: the stack's whole configuration. */
export function providerInputs(config: Config): ValueMap {
  return Object.fromEntries(
    [...config].map(([key, entry]) => [key, entry.secret ? secret(entry.value) : entry.value]),
  );
}

/** The stack's dynamic resource providers. */
export class Providers implements Lifecycle {
  readonly #byReference = new Map<string, DynamicProvider>();
  readonly #hosts: { provider: string | undefined; host: Host }[] = [];

  constructor(
    readonly run: HostRun,
    readonly dryRun: boolean,
  ) {}

  /** Starts a host early, even if it may not be needed, because that takes half a second. */
  warmUp(): void {
    this.#hosts.push({ provider: undefined, host: new Host(this.run) });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#hosts.map(({ host }) => host.stop()));
  }

  check(_urn: Urn, _olds: ValueMap, news: ValueMap): Promise<{ inputs: ValueMap; failures: [] }> {
    return Promise.resolve({ inputs: news, failures: [] });
  }

  diff(
    _state: ResourceState,
    _oldInputs: ValueMap,
    oldOutputs: ValueMap,
    news: ValueMap,
  ): Promise<DiffResult> {
    const changes = equalMaps(oldOutputs, news) ? "none" : "some";
    return Promise.resolve({ changes, replaceKeys: [], changedKeys: [], deleteBeforeReplace: false });
  }

  async create(state: ResourceState): Promise<CreatedResource> {
    const id = this.dryRun ? UNKNOWN_ID : randomUUID();
    await this.#configure(state.urn, id, state.inputs);
    return { id, outputs: state.inputs };
  }

  async update(old: ResourceState, state: ResourceState): Promise<ValueMap> {
    await this.#configure(state.urn, old.id, state.inputs);
    return state.inputs;
  }

  delete(): Promise<void> {
    return Promise.resolve();
  }

  /** Configures an unchanged provider with its recorded inputs. */
  async use(state: ResourceState): Promise<void> {
    if (!this.#byReference.has(providerReference(state.urn, state.id))) {
      await this.#configure(state.urn, state.id, state.inputs);
    }
  }

  get(reference: string): DynamicProvider {
    const provider = this.#byReference.get(reference);
    if (provider === undefined) throw new CommandError(`unknown provider '${reference}'`);
    return provider;
  }

  /** Configures the provider of a resource that the program doesn't declare. Takes the provider from the state. */
  async ensure(reference: string, olds: ReadonlyMap<Urn, ResourceState>): Promise<void> {
    if (reference === "" || this.#byReference.has(reference)) return;
    const state = olds.get(providerUrnOf(reference));
    if (state === undefined || providerReference(state.urn, state.id) !== reference) {
      throw new CommandError(`could not find provider ${reference} in the state`);
    }
    await this.use(state);
  }

  async #configure(urn: Urn, id: string, config: ValueMap): Promise<void> {
    const provider = new DynamicProvider(await this.#hostFor(urn, config).client, this.dryRun);
    await provider.configure(urn, id, config);
    this.#byReference.set(providerReference(urn, id), provider);
  }

  /**
   * Returns a provider's host. As in the CLI, each provider has its own process, and needs a new one if its
   * configuration changes.
   */
  #hostFor(urn: Urn, config: ValueMap): Host {
    const key = JSON.stringify([urn, toPlainMap(config)]);
    let entry =
      this.#hosts.find((each) => each.provider === key) ??
      this.#hosts.find((each) => each.provider === undefined);
    if (entry === undefined) {
      entry = { provider: key, host: new Host(this.run) };
      this.#hosts.push(entry);
    }
    entry.provider = key;
    return entry.host;
  }
}
