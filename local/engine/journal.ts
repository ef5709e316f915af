/**
 * Writes the state while an operation runs: a step's intent before it starts, and its result before the program
 * receives it.
 */
import type { Deployment, OperationType, PendingOperation, ResourceState } from "./state";

export class Journal {
  /** States that this operation created or kept, each after its dependencies. */
  readonly #current: ResourceState[] = [];
  /** States that were deleted or superseded. */
  readonly #done = new Set<ResourceState>();
  readonly #operations = new Map<ResourceState, OperationType>();
  #writing: Promise<void> = Promise.resolve();
  #queued: Promise<void> | undefined;

  constructor(
    readonly base: Deployment,
    readonly save: (deployment: Deployment) => Promise<void>,
  ) {}

  async begin(state: ResourceState, type: OperationType): Promise<void> {
    this.#operations.set(state, type);
    await this.commit();
  }

  /** Ends an operation that doesn't record anything. */
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

  /** Records an unchanged resource. It's written with the next change, or at the end. */
  unchanged(old: ResourceState, current: ResourceState): void {
    this.#done.add(old);
    this.#current.push(current);
  }

  async removed(state: ResourceState): Promise<void> {
    this.#operations.delete(state);
    this.#done.add(state);
    await this.commit();
  }

  /** Batches concurrent changes into one write. */
  async commit(): Promise<void> {
    this.#queued ??= this.#writing
      .catch(() => undefined)
      .then(async () => {
        this.#queued = undefined;
        await this.save(this.#snapshot());
      });
    this.#writing = this.#queued;
    await this.#queued;
  }

  /** Returns the state to write. Pending creates of an earlier operation stay until the user clears them. */
  #snapshot(): Deployment {
    const alive = [...this.#current, ...this.base.resources].filter((state) => !this.#done.has(state));
    const running = [...this.#operations].map(([resource, type]): PendingOperation => ({ resource, type }));
    const unresolved = this.base.pendingOperations.filter(({ type }) => type === "creating");
    return { resources: alive, pendingOperations: [...running, ...unresolved] };
  }
}
