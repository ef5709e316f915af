import { fstatSync } from "node:fs";

/** How often a dying process looks whether its work has come to an end. */
const LOOK_MS = 20;

/** When a dying process gives up: shortly before the engine, which allows five seconds, would kill it. */
const GIVE_UP_MS = 4_500;

/**
 * Ends the provider's process when there is nobody left to work for. The engine holds the other end of this process's
 * stdin: when that end is closed, the engine has gone, even by kill -9. At the end of every operation it sends SIGINT
 * and allows five seconds.
 */
export class Lifeline {
  readonly #controller = new AbortController();
  readonly #closing = new AbortController();
  #watching = false;

  /** Fires when nothing may be sent any more. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Fires when no further request may begin, and what is in flight may finish. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Starts to watch; called in the provider's process only, never in a user's program. The process ends when nothing is
   * `busy`: no request unanswered, no verb whose reply has not gone to the engine, which would lose what was done.
   */
  watch(busy: () => boolean): void {
    if (this.#watching) return;
    this.#watching = true;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        this.#closing.abort();
        const deadline = performance.now() + GIVE_UP_MS;
        const exit = (): void => {
          if (!busy() || performance.now() >= deadline) process.exit(128 + (signal === "SIGINT" ? 2 : 15));
          setTimeout(exit, LOOK_MS);
        };
        exit();
      });
    }
    if (!stdinIsPipe()) return; // A terminal or /dev/null says nothing of an engine.
    process.stdin.on("close", () => this.#gone());
    process.stdin.on("end", () => this.#gone());
    process.stdin.on("error", () => this.#gone());
    process.stdin.resume();
  }

  #gone(): void {
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
