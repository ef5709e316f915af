import timers from "node:timers/promises";

export interface VirtualTime {
  /** The length of each pause in milliseconds, in the order in which they began. */
  readonly waits: readonly number[];
  /** Makes pauses last until `go` is called. */
  stop(): void;
  go(): void;
}

/**
 * Replaces time until the end of the test: each pause ends at once and moves both clocks ahead by its length. Events (the
 * network, `setTimeout` itself) stay in real time.
 */
export function virtualTime(): VirtualTime {
  const [date, monotonic] = [Date.now(), Math.ceil(performance.now())];
  const waits: number[] = [];
  let ahead = 0;
  let moving = Promise.resolve();
  let go = (): void => undefined;
  jest.spyOn(Date, "now").mockImplementation(() => date + ahead);
  jest.spyOn(performance, "now").mockImplementation(() => monotonic + ahead);
  jest.spyOn(timers, "setTimeout").mockImplementation(async (ms = 0, value, { signal } = {}) => {
    waits.push(ms);
    const due = ahead + ms;
    await Promise.race([moving.then(() => new Promise(setImmediate)), aborted(signal)]);
    ahead = Math.max(ahead, due);
    return value;
  });
  return {
    waits,
    stop: () => {
      moving = new Promise((resolve) => (go = resolve));
    },
    go: () => go(),
  };
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(new DOMException("The operation was aborted", "AbortError"));
    if (signal?.aborted === true) abort();
    signal?.addEventListener("abort", abort, { once: true });
  });
}

afterEach(() => jest.restoreAllMocks());
