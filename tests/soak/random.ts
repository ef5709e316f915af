/** Random choices, the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b9) | 0;
  }

  /** At least 0 and less than 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.int(0, from.length - 1)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }

  /** `least` to `most` of them, in random order. */
  some<T>(from: readonly T[], least: number, most: number): T[] {
    const left = [...from];
    const count = Math.min(left.length, this.int(least, most));
    return Array.from({ length: count }, () => left.splice(this.int(0, left.length - 1), 1)).flat();
  }

  hex(digits: number): string {
    return Array.from({ length: digits }, () => this.int(0, 15).toString(16)).join("");
  }

  word(): string {
    return this.pick(WORDS);
  }

  /** `{ [name]: value }` with this probability, else empty: an optional argument. */
  maybe<T>(name: string, value: () => T, probability = 0.4): Readonly<Record<string, T>> {
    return this.chance(probability) ? { [name]: value() } : {};
  }
}

const WORDS = "shop cart checkout blog search login media hooks static admin status billing news".split(" ");
