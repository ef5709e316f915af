/**
 * What is written to the state while an operation runs. Nothing is done to the world before the intent is on disk,
 * and nothing that was done is reported to the program before the result is.
 */
import type { Deployment, OperationType, PendingOperation, ResourceState } from "./state";

export class Journal {
  /** States made or confirmed by this operation, in an order in which nothing precedes what it depends on. */
  readonly #current: ResourceState[] = [];
  /** States that are gone or were superseded. */
  readonly #done = new Set<ResourceState>();
  readonly #operations = new Map<ResourceState, OperationType>();
  #writing: Promise<void> = Promise.resolve();
  #queued: Promise<void> | undefined;

  readonly #base: Deployment;
  readonly #save: (deployment: Deployment) => Promise<void>;

  constructor(base: Deployment, save: (deployment: Deployment) => Promise<void>) {
    this.#base = base;
    this.#save = save;
  }

  async begin(state: ResourceState, type: OperationType): Promise<void> {
    this.#operations.set(state, type);
    await this.commit();
  }

  /** Ends an operation that changed nothing that should be kept. */
  async abandon(state: ResourceState): Promise<void> {
    this.#operations.delete(state);
    await this.commit();
  }

  async replaced(old: ResourceState | undefined, current: ResourceState): Promise<void> {
    this.#operations.delete(current);
    if (old !== undefined) this.#done.add(old);
    this.#current.push(current);
    await this.commit();
  }

  /** An unchanged resource is written with the next real change, or at the end. */
  confirmed(old: ResourceState, current: ResourceState): void {
    this.#done.add(old);
    this.#current.push(current);
  }

  async removed(state: ResourceState): Promise<void> {
    this.#operations.delete(state);
    this.#done.add(state);
    await this.commit();
  }

  /** Changes that happen at the same time are written together. */
  async commit(): Promise<void> {
    this.#queued ??= this.#writing
      .catch(() => undefined)
      .then(async () => {
        this.#queued = undefined;
        await this.#save(this.#snapshot());
      });
    this.#writing = this.#queued;
    await this.#queued;
  }

  /** A pending creation of an earlier operation stays until a person has cleared it: only they can know what became of it. */
  #snapshot(): Deployment {
    const alive = [...this.#current, ...this.#base.resources].filter((state) => !this.#done.has(state));
    const running = [...this.#operations].map(([resource, type]): PendingOperation => ({ resource, type }));
    const unresolved = this.#base.pendingOperations.filter(({ type }) => type === "creating");
    return { resources: alive, pendingOperations: [...running, ...unresolved] };
  }
}
