import { fstatSync } from "node:fs";

/** How often a process that is shutting down checks whether its work is done. */
const CHECK_EVERY_MS = 20;

/** When a process that's shutting down gives up waiting: shortly before the engine kills it, after five seconds. */
const GIVE_UP_MS = 4_500;

/**
 * Ends the provider's process when the engine ends. The engine has the other end of stdin, which closes when the engine
 * exits, even after a kill -9. At the end of every operation, the engine sends SIGINT and allows five seconds.
 */
export class Lifeline {
  readonly #controller = new AbortController();
  readonly #closing = new AbortController();
  #watching = false;
  #inProgress = 0;

  /** Aborts when nothing may be sent anymore. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts when no new request may start. Requests in flight still finish. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Prevents new requests. Called when the engine cancels the operation. */
  cancel(): void {
    this.#closing.abort();
  }

  /** Runs one of the engine's calls. The process doesn't end before the engine has the reply. */
  async answering<T>(work: () => Promise<T> | T): Promise<T> {
    this.#inProgress += 1;
    try {
      return await work();
    } finally {
      // The reply is sent in the next few turns of the event loop.
      setImmediate(() => setImmediate(() => (this.#inProgress -= 1)));
    }
  }

  /**
   * Starts watching. Call it only in the provider's process, never in a user's program. The process ends once all
   * requests have received their responses, and all calls have replied to the engine. Otherwise, the engine would lose
   * track of what was done.
   *
   * @param inFlight returns the number of requests without a response.
   */
  watch(inFlight: () => number): void {
    if (this.#watching) return;
    this.#watching = true;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        this.#closing.abort();
        const deadline = performance.now() + GIVE_UP_MS;
        const exit = (): void => {
          const isBusy = this.#inProgress > 0 || inFlight() > 0;
          if (!isBusy || performance.now() >= deadline) process.exit(128 + (signal === "SIGINT" ? 2 : 15));
          setTimeout(exit, CHECK_EVERY_MS);
        };
        exit();
      });
    }
    if (!stdinIsPipe()) return; // A terminal or /dev/null says nothing about an engine.
    process.stdin.on("close", () => this.#engineExited());
    process.stdin.on("end", () => this.#engineExited());
    process.stdin.on("error", () => this.#engineExited());
    process.stdin.resume();
  }

  #engineExited(): void {
    this.#controller.abort();
    process.exit(1);
  }
}

function stdinIsPipe(): boolean {
  try {
    const stat = fstatSync(0);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    return false; // No stdin at all.
  }
}
