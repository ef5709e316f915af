/** The time of the service: the clock it was given, and as far ahead of it as somebody moved it. */
export class MovableClock {
  #aheadMs = 0;

  readonly #base: () => Date;

  constructor(base: () => Date) {
    this.#base = base;
  }

  readonly now = (): Date => new Date(this.#base().getTime() + this.#aheadMs);

  /** Never back: what has expired stays so. */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`the clock only moves ahead, not by ${ms} ms`);
    this.#aheadMs += ms;
  }
}
