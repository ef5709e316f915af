export interface ShelfOptions {
  readonly clock: () => Date;
  /** How old a value must be before reads see it, in milliseconds. */
  readonly lagMs: number;
  /** How old a value must be before lists show it, in milliseconds. Reads must see it as well. @default 0 */
  readonly listLagMs?: number;
}

/** Stores one immutable value per key. Writes see each other immediately; reads can be configured to lag behind. */
export class Shelf<T> {
  readonly #values = new Map<string, { readonly value: T; readonly since: number }[]>();

  /** @param blank the value of a key that was never written. By default, reading one is an error. */
  constructor(
    readonly options: ShelfOptions,
    readonly blank?: T,
  ) {}

  /** Returns the current value, without any lag. */
  latest(key: string): T {
    return this.#versions(key).at(-1)?.value ?? missing(key);
  }

  /** Returns the value as reads see it, possibly with a lag. */
  visible(key: string): T {
    return this.#shownAfter(this.options.lagMs, key);
  }

  /** Returns the value as lists show it, possibly with a lag. */
  listed(key: string): T {
    return this.#shownAfter(this.#longestLagMs, key);
  }

  get #longestLagMs(): number {
    return Math.max(this.options.lagMs, this.options.listLagMs ?? 0);
  }

  #shownAfter(lagMs: number, key: string): T {
    const versions = this.#versions(key);
    const shownBefore = this.#now() - lagMs;
    return (versions.findLast(({ since }) => since <= shownBefore) ?? versions[0])?.value ?? missing(key);
  }

  write(key: string, value: T): void {
    const now = this.#now();
    const versions = this.#versions(key);
    const oldestShown = versions.findLastIndex(({ since }) => since <= now - this.#longestLagMs);
    this.#values.set(key, [...versions.slice(Math.max(0, oldestShown)), { value, since: now }]);
  }

  /** Replaces all values. The new ones are visible immediately. */
  reset(values: Iterable<readonly [string, T]>): void {
    this.#values.clear();
    for (const [key, value] of values) this.#values.set(key, [{ value, since: -Infinity }]);
  }

  entries(): [string, T][] {
    return [...this.#values.keys()].map((key) => [key, this.latest(key)]);
  }

  #versions(key: string) {
    const { blank } = this;
    return (
      this.#values.get(key) ?? (blank === undefined ? missing(key) : [{ value: blank, since: -Infinity }])
    );
  }

  #now(): number {
    return this.options.clock().getTime();
  }
}

function missing(key: string): never {
  throw new Error(`nothing is kept under ${key}`);
}
