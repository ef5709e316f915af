import { setTimeout as sleep } from "node:timers/promises";

/** At most `requests` within any `ms` milliseconds. */
export interface RateWindow {
  readonly requests: number;
  readonly ms: number;
}

/** What the service documents: 1,200 requests per 5 minutes per user (facts 1.5). */
export const DOCUMENTED_RATE: RateWindow = { requests: 1_200, ms: 5 * 60_000 };

/**
 * Requests one credential may still send. Everything in the process that uses the credential shares one budget, so that
 * a large stack slows down instead of being locked out for five minutes.
 */
export class RateBudget {
  readonly #windows: { readonly rate: RateWindow; readonly sent: number[] }[];
  #pausedUntil = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(rates: readonly RateWindow[]) {
    this.#windows = rates.map((rate) => ({ rate, sent: [] }));
  }

  // Times are of the monotonic clock: a clock that is set back must not make anybody wait.

  /** Resolves when one more request may be sent. First come, first served. */
  take(signal?: AbortSignal): Promise<void> {
    const turn = this.#turn.then(() => this.#wait(signal));
    this.#turn = turn.catch(() => undefined); // A cancelled caller gives up its turn; the next one is not harmed.
    return turn;
  }

  /** Nobody sends before `ms` milliseconds have passed: what a 429 with Retry-After asks of all callers. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms);
  }

  async #wait(signal?: AbortSignal): Promise<void> {
    for (;;) {
      signal?.throwIfAborted();
      const now = performance.now();
      const waits = this.#windows.map(({ rate, sent }) => {
        while (sent[0] !== undefined && sent[0] <= now - rate.ms) sent.shift();
        return sent.length < rate.requests ? 0 : (sent[0] ?? now) + rate.ms - now;
      });
      const wait = Math.max(this.#pausedUntil - now, ...waits, 0);
      if (wait <= 0) {
        for (const { sent } of this.#windows) sent.push(now);
        return;
      }
      await sleep(wait, undefined, signal === undefined ? {} : { signal });
    }
  }
}
