/** What the engine asks of whoever manages a resource, and the providers themselves, which are resources, too. */
import { randomUUID } from "node:crypto";
import { CommandError } from "./errors";
import { Host, type HostRun } from "./host";
import type { Config } from "./project";
import { DynamicProvider, type CheckFailure, type DiffAnswer, type Made } from "./provider";
import type { ResourceState } from "./state";
import { providerReference, providerUrnOf, type Urn } from "./urn";
import { equalMaps, secret, toPlainMap, type ValueMap } from "./values";

export interface Lifecycle {
  check(
    urn: Urn,
    olds: ValueMap,
    news: ValueMap,
  ): Promise<{ inputs: ValueMap; failures: readonly CheckFailure[] }>;
  diff(state: ResourceState, oldInputs: ValueMap, oldOutputs: ValueMap, news: ValueMap): Promise<DiffAnswer>;
  create(state: ResourceState): Promise<Made>;
  update(old: ResourceState, state: ResourceState): Promise<ValueMap>;
  delete(state: ResourceState): Promise<void>;
}

/** A preview cannot know the id a new provider will get. */
const UNKNOWN_ID = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** All of the stack's configuration goes to the provider of dynamic resources. */
export function providerInputs(config: Config): ValueMap {
  return Object.fromEntries(
    [...config].map(([key, entry]) => [key, entry.secret ? secret(entry.value) : entry.value]),
  );
}

/** The default provider of dynamic resources: its inputs are the whole stack configuration. */
export class Providers implements Lifecycle {
  readonly #byReference = new Map<string, DynamicProvider>();
  readonly #hosts: { config: string | undefined; host: Host }[] = [];
  readonly #run: HostRun;
  readonly #dryRun: boolean;

  constructor(run: HostRun, dryRun: boolean) {
    this.#run = run;
    this.#dryRun = dryRun;
  }

  /** Starting takes half a second: it is begun before anything is known about what will be needed. */
  warmUp(): void {
    this.#hosts.push({ config: undefined, host: new Host(this.#run) });
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
  ): Promise<DiffAnswer> {
    const changes = equalMaps(oldOutputs, news) ? "none" : "some";
    return Promise.resolve({ changes, replaceKeys: [], changedKeys: [], deleteBeforeReplace: false });
  }

  async create(state: ResourceState): Promise<Made> {
    const id = this.#dryRun ? UNKNOWN_ID : randomUUID();
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

  /** What was found unchanged serves with the inputs it has in the state. */
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

  /** For a resource of which the program says nothing: its provider is in the state. */
  async ensure(reference: string, olds: ReadonlyMap<Urn, ResourceState>): Promise<void> {
    if (reference === "" || this.#byReference.has(reference)) return;
    const state = olds.get(providerUrnOf(reference));
    if (state === undefined || providerReference(state.urn, state.id) !== reference) {
      throw new CommandError(`could not find provider ${reference} in the state`);
    }
    await this.use(state);
  }

  async #configure(urn: Urn, id: string, config: ValueMap): Promise<void> {
    const provider = new DynamicProvider(await this.#hostFor(config).client, this.#dryRun);
    await provider.configure(urn, id, config);
    this.#byReference.set(providerReference(urn, id), provider);
  }

  /** A host keeps the providers it has configured, so another configuration needs another host. */
  #hostFor(config: ValueMap): Host {
    const key = JSON.stringify(toPlainMap(config));
    let entry =
      this.#hosts.find((each) => each.config === key) ??
      this.#hosts.find((each) => each.config === undefined);
    if (entry === undefined) {
      entry = { config: key, host: new Host(this.#run) };
      this.#hosts.push(entry);
    }
    entry.config = key;
    return entry.host;
  }
}
