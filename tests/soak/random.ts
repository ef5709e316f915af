/** Random choices that a seed repeats. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b9) | 0;
  }

  /** From 0 to below 1 (mulberry32). */
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
    if (picked === undefined) throw new Error("there is nothing to pick from");
    return picked;
  }

  /** Up to `most` of them, in random order. */
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

  /** `{ [name]: value }` in so many of all cases, else nothing: an argument that may be left out. */
  maybe<T>(name: string, value: () => T, probability = 0.4): Readonly<Record<string, T>> {
    return this.chance(probability) ? { [name]: value() } : {};
  }
}

const WORDS = "shop cart checkout blog search login media hooks static admin status billing news".split(" ");
