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
  /** The longest acceptable wait. Checked when it's called, and in its turn: a pause may have made the wait longer. */
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
    this.#giveUpIfTooLong(options);
    // A caller that gives up leaves the queue, and the next one takes its turn.
    const turn = this.#turn.then(() => this.#take(options));
    this.#turn = turn.catch(() => undefined);
    await turn;
  }

  /** Pauses all callers for `ms` milliseconds, as requested by a 429 with Retry-After. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms);
  }

  get paused(): boolean {
    return this.#pausedUntil > performance.now();
  }

  async #take(options: TakeOptions): Promise<void> {
    for (;;) {
      const wait = this.#giveUpIfTooLong(options);
      if (wait.ms <= 0) {
        const now = performance.now();
        for (const { sent } of this.#windows) sent.push(now);
        return;
      }
      options.onWait?.(wait);
      await sleep(wait.ms, undefined, { signal: options.signal });
    }
  }

  #giveUpIfTooLong({ signal, maxWaitMs = Infinity }: TakeOptions): Wait {
    signal?.throwIfAborted();
    const wait = this.#wait();
    if (wait.ms <= maxWaitMs) return wait;
    const reason = `${wait.reason} for another ${Math.ceil(wait.ms / 1000)} s`;
    throw new NotSentError(reason, "Run the command again after that.");
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

function inWords({ requests, ms }: RateWindow): string {
  const [length, unit] = ms >= 60_000 ? [ms / 60_000, "minute"] : [ms / 1000, "second"];
  const counted = (n: number, noun: string): string =>
    `${n.toLocaleString("en-US", { maximumFractionDigits: 1 })} ${noun}${n === 1 ? "" : "s"}`;
  return `${counted(requests, "request")} in ${counted(length, unit)}`;
}
