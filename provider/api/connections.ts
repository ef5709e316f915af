import type * as Undici from "undici";
import { proxies } from "./proxy";

/** Longest waits for one attempt, in milliseconds. */
export const TIMEOUTS = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000 } as const;

/** Longest time of one attempt as a whole, however steadily its answer drips: 25 MB over a slow line may take minutes. */
export const ATTEMPT_MS = 300_000;

/** Requests in flight at the same time, unless `edgeguard:concurrency` says otherwise. */
export const DEFAULT_CONCURRENCY = 8;

export interface ConnectionOptions {
  /** Requests in flight at the same time. */
  readonly concurrency?: number;
  readonly timeouts?: { readonly connectMs: number; readonly headersMs: number; readonly bodyMs: number };
}

/**
 * Connections that several clients share. Who has to wait for one waits here and not within the HTTP library, which
 * would send the request even when no further one may begin.
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

  /** Made for the first request. */
  get dispatcher(): Undici.Dispatcher {
    return (this.#dispatcher ??= this.#open());
  }

  /** Takes a connection, first come first served; rejects when `signal` fires. Each is to be given back. */
  take(signal: AbortSignal): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const granted = (): void => {
        signal.removeEventListener("abort", gaveUp);
        resolve();
      };
      const gaveUp = (): void => {
        this.#waiting.delete(granted);
        reject(signal.reason as Error);
      };
      this.#waiting.add(granted);
      signal.addEventListener("abort", gaveUp, { once: true });
    });
  }

  giveBack(): void {
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
 * The HTTP library, loaded at the first request: a program that only declares resources, and a preview of a stack that did
 * not change, send none, and need not wait a tenth of a second for it.
 */
export function undici(): typeof Undici {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would load it at every start
  return require("undici") as typeof Undici;
}
