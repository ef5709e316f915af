import { setTimeout as sleep } from "node:timers/promises";

/** A rate: at most `requests` within any `ms` milliseconds. */
export interface RateWindow {
  readonly requests: number;
  readonly ms: number;
}

/** Cloudflare's limit per user: https://developers.cloudflare.com/fundamentals/api/reference/limits/. */
export const DOCUMENTED_RATE: RateWindow = { requests: 1_200, ms: 5 * 60_000 };

/** How long to wait before the next request, and why. */
export interface Wait {
  readonly ms: number;
  readonly reason: string;
}

export interface TakeOptions {
  readonly signal?: AbortSignal;
  /** The longest acceptable wait. Checked at the start and whenever the wait gets longer. */
  readonly maxWaitMs?: number;
  /** Called when a wait begins. */
  readonly onWait?: (wait: Wait) => void;
}

/** Thrown if a request isn't sent, because its caller doesn't wait for as long as it would take. */
export class NotSentError extends Error {
  override readonly name = "NotSentError";
  constructor(
    reason: string,
    readonly advice: string,
  ) {
    super(reason);
  }
}

/**
 * The requests that one credential may still send. Everything in the process that uses the credential shares one budget,
 * so that a large stack slows down instead of being locked out for five minutes.
 */
export class RateBudget {
  readonly #windows: { readonly rate: RateWindow; readonly sent: number[] }[] = [];
  #pausedUntil = 0;
  #turn: Promise<void> = Promise.resolve();
  /** One callback per waiting caller. The callback gives up if the wait has become too long. */
  readonly #waiters = new Set<() => void>();

  constructor(rates: readonly RateWindow[]) {
    this.limit(rates);
  }

  // Times are monotonic, because setting the clock back must not make anyone wait.

  /** Adds rate limits. */
  limit(rates: readonly RateWindow[]): void {
    for (const rate of rates) {
      const has = this.#windows.some((w) => w.rate.requests === rate.requests && w.rate.ms === rate.ms);
      if (!has) this.#windows.push({ rate, sent: [] });
    }
  }

  /**
   * Resolves when one more request may be sent. First come, first served.
   *
   * @throws NotSentError
   */
  async take(options: TakeOptions = {}): Promise<void> {
    const { signal, maxWaitMs = Infinity } = options;
    signal?.throwIfAborted();
    const stop = new AbortController();
    const giveUpIfTooLong = (): void => {
      const wait = this.#wait();
      if (wait.ms <= maxWaitMs) return;
      const reason = `${wait.reason} for another ${Math.ceil(wait.ms / 1000)} s`;
      stop.abort(new NotSentError(reason, "Run the command again after that."));
    };
    const abort = (): void => stop.abort(signal?.reason);
    giveUpIfTooLong();
    stop.signal.throwIfAborted();
    this.#waiters.add(giveUpIfTooLong);
    signal?.addEventListener("abort", abort, { once: true });
    // A caller that gives up leaves the queue, and the next one takes its turn.
    const turn = this.#turn.then(() => this.#take(stop.signal, giveUpIfTooLong, options.onWait));
    this.#turn = turn.catch(() => undefined);
    try {
      await unlessAborted(turn, stop.signal);
    } finally {
      this.#waiters.delete(giveUpIfTooLong);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Pauses all callers for `ms` milliseconds, as requested by a 429 with Retry-After. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms);
    for (const giveUpIfTooLong of [...this.#waiters]) giveUpIfTooLong();
  }

  get paused(): boolean {
    return this.#pausedUntil > performance.now();
  }

  async #take(stop: AbortSignal, giveUpIfTooLong: () => void, onWait?: (wait: Wait) => void): Promise<void> {
    for (;;) {
      giveUpIfTooLong();
      stop.throwIfAborted();
      const wait = this.#wait();
      if (wait.ms <= 0) {
        const now = performance.now();
        for (const { sent } of this.#windows) sent.push(now);
        return;
      }
      onWait?.(wait);
      await sleep(wait.ms, undefined, { signal: stop });
    }
  }

  /** Returns how long the next request must wait, and why. */
  #wait(): Wait {
    const now = performance.now();
    let longest: Wait = { ms: Math.max(0, this.#pausedUntil - now), reason: "Cloudflare asked to pause" };
    for (const { rate, sent } of this.#windows) {
      while (sent[0] !== undefined && sent[0] <= now - rate.ms) sent.shift();
      const ms = sent.length < rate.requests ? 0 : (sent[0] ?? now) + rate.ms - now;
      if (ms > longest.ms) longest = { ms, reason: `the rate budget of ${inWords(rate)} is used up` };
    }
    return longest;
  }
}

function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    work.then(resolve, reject);
  });
}

function inWords({ requests, ms }: RateWindow): string {
  const [length, unit] = ms >= 60_000 ? [ms / 60_000, "minute"] : [ms / 1000, "second"];
  const counted = (n: number, noun: string): string =>
    `${n.toLocaleString("en-US", { maximumFractionDigits: 1 })} ${noun}${n === 1 ? "" : "s"}`;
  return `${counted(requests, "request")} in ${counted(length, unit)}`;
}
