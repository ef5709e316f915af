import { setTimeout as sleep } from "node:timers/promises";

/** At most `requests` within any `ms` milliseconds. */
export interface RateWindow {
  readonly requests: number;
  readonly ms: number;
}

/** What Cloudflare documents: 1,200 requests per 5 minutes per user. */
export const DOCUMENTED_RATE: RateWindow = { requests: 1_200, ms: 5 * 60_000 };

/** How long nothing may be sent, and why, as a clause. */
export interface Wait {
  readonly ms: number;
  readonly reason: string;
}

export interface TakeOptions {
  readonly signal?: AbortSignal;
  /** A longer wait than this is not begun, or given up as soon as it turns out to be that long. */
  readonly maxWaitMs?: number;
  /** Hears of every wait that begins. */
  readonly onWait?: (wait: Wait) => void;
}

/** The next request would have to wait longer than its caller is willing to. */
export class WaitTooLongError extends Error {
  override readonly name = "WaitTooLongError";
  constructor(readonly wait: Wait) {
    super(wait.reason);
  }
}

/**
 * Requests one credential may still send. Everything in the process that uses the credential shares one budget, so that
 * a large stack slows down instead of being locked out for five minutes.
 */
export class RateBudget {
  readonly #windows: { readonly rate: RateWindow; readonly sent: number[] }[] = [];
  #pausedUntil = 0;
  #turn: Promise<void> = Promise.resolve();
  /** Of everybody who waits: whether it has become too long. */
  readonly #looks = new Set<() => void>();

  constructor(rates: readonly RateWindow[]) {
    this.limit(rates);
  }

  // Times are of the monotonic clock: a clock that is set back must not make anybody wait.

  /** Holds to these rates as well. */
  limit(rates: readonly RateWindow[]): void {
    for (const rate of rates) {
      const has = this.#windows.some((w) => w.rate.requests === rate.requests && w.rate.ms === rate.ms);
      if (!has) this.#windows.push({ rate, sent: [] });
    }
  }

  /**
   * Resolves when one more request may be sent. First come, first served.
   *
   * @throws WaitTooLongError
   */
  async take(options: TakeOptions = {}): Promise<void> {
    const { signal, maxWaitMs = Infinity } = options;
    signal?.throwIfAborted();
    const given = new AbortController();
    const look = (): void => {
      const wait = this.#wait();
      if (wait.ms > maxWaitMs) given.abort(new WaitTooLongError(wait));
    };
    const abort = (): void => given.abort(signal?.reason);
    look();
    given.signal.throwIfAborted();
    this.#looks.add(look);
    signal?.addEventListener("abort", abort, { once: true });
    // Who gives up gives up its turn; the next one is not harmed.
    const turn = this.#turn.then(() => this.#take(given.signal, look, options.onWait));
    this.#turn = turn.catch(() => undefined);
    try {
      await unlessAborted(turn, given.signal);
    } finally {
      this.#looks.delete(look);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Nobody sends before `ms` milliseconds have passed: what a 429 with Retry-After asks of all callers. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms);
    for (const look of [...this.#looks]) look();
  }

  get paused(): boolean {
    return this.#pausedUntil > performance.now();
  }

  async #take(stop: AbortSignal, look: () => void, onWait?: (wait: Wait) => void): Promise<void> {
    for (;;) {
      look();
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

  /** What the next request has to wait for. */
  #wait(): Wait {
    const now = performance.now();
    let longest: Wait = { ms: Math.max(0, this.#pausedUntil - now), reason: "the service asked for a pause" };
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
