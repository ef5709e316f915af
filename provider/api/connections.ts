import type * as Undici from "undici";
import { proxies } from "./proxy";

/** Timeouts for one attempt, in milliseconds. */
export const TIMEOUTS = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000 } as const;

/** The time limit for a whole attempt, even if data keeps arriving. 25 MB over a slow connection may take minutes. */
export const ATTEMPT_MS = 300_000;

/** The default of `edgeguard:concurrency`, the number of requests in flight at the same time. */
export const DEFAULT_CONCURRENCY = 8;

export interface ConnectionOptions {
  /** The maximum number of requests in flight at the same time. */
  readonly concurrency?: number;
  readonly timeouts?: { readonly connectMs: number; readonly headersMs: number; readonly bodyMs: number };
}

/**
 * Connections that several clients share. Requests queue here for a connection rather than in the HTTP library, which
 * would send them even after the operation was stopped.
 */
export class Connections {
  readonly #open: () => Undici.Dispatcher;
  #dispatcher: Undici.Dispatcher | undefined;
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor({ concurrency = DEFAULT_CONCURRENCY, timeouts = TIMEOUTS }: ConnectionOptions = {}) {
    this.#free = concurrency;
    this.#open = () => pool(concurrency, timeouts);
  }

  /** The HTTP library's dispatcher. It's created for the first request. */
  get dispatcher(): Undici.Dispatcher {
    return (this.#dispatcher ??= this.#open());
  }

  /**
   * Acquires a connection, in order of arrival. Rejects when `signal` aborts. The caller must release the connection.
   */
  acquire(signal: AbortSignal): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const onFree = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = (): void => {
        this.#waiting.delete(onFree);
        reject(signal.reason as Error);
      };
      this.#waiting.add(onFree);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }

  close(): Promise<void> {
    return this.#dispatcher?.destroy() ?? Promise.resolve();
  }
}

function pool(
  concurrency: number,
  timeouts: { readonly connectMs: number; readonly headersMs: number; readonly bodyMs: number },
): Undici.Dispatcher {
  const options: Undici.Agent.Options = {
    connections: concurrency,
    pipelining: 1,
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.bodyMs,
  };
  const { Agent, EnvHttpProxyAgent } = undici();
  return proxies(process.env).length > 0 ? new EnvHttpProxyAgent(options) : new Agent(options);
}

/**
 * Loads the HTTP library on the first request. Loading takes a tenth of a second, which is saved in programs that only
 * declare resources and in previews of unchanged stacks.
 */
export function undici(): typeof Undici {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would load it at every start
  return require("undici") as typeof Undici;
}
