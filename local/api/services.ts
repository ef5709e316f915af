import type { Faults } from "./faults";
import type { Settings } from "./options";
import type { RequestLog } from "./request-log";
import type { State } from "./state";

/** The local API's time: its clock, plus the time it was moved ahead. */
export class MovableClock {
  #aheadMs = 0;

  readonly #base: () => Date;

  constructor(base: () => Date) {
    this.#base = base;
  }

  readonly now = (): Date => new Date(this.#base().getTime() + this.#aheadMs);

  /** The clock never goes back, so whatever has expired stays expired. */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`the clock only moves ahead, not by ${ms} ms`);
    this.#aheadMs += ms;
  }
}

/** What the routes use. */
export interface Services {
  readonly settings: Settings;
  /** Also available as `settings.clock`, which can only be read. */
  readonly clock: MovableClock;
  readonly state: State;
  readonly faults: Faults;
  readonly log: RequestLog;
  /** Rejects when the server closes. */
  readonly wait: (ms: number) => Promise<void>;
}
