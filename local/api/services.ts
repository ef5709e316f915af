import type { Faults } from "./faults";
import type { Settings } from "./options";
import type { RequestLog } from "./request-log";
import type { State } from "./state";

/** The local API's clock, plus the time by which it was moved ahead. */
export class MovableClock {
  #aheadMs = 0;

  constructor(readonly base: () => Date) {}

  readonly now = (): Date => new Date(this.base().getTime() + this.#aheadMs);

  /** Moves the clock ahead. It never goes back, so anything that has expired stays expired. */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`the clock can't be moved by ${ms} ms. Pass 0 or more`);
    this.#aheadMs += ms;
  }
}

/** The services that the routes use. */
export interface Services {
  readonly settings: Settings;
  readonly state: State;
  readonly faults: Faults;
  readonly log: RequestLog;
  /** Resolves after a delay. Rejects if the server closes first. */
  readonly wait: (ms: number) => Promise<void>;
}
