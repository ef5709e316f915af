const SHOWN_LINES = 10;

/** The first ten sentences, and how many more there are. */
export class FirstFew {
  readonly #what: string;
  readonly #lines: string[] = [];
  #last: string[] = [];
  #more = 0;

  constructor(what: string) {
    this.#what = what;
  }

  /** @param rank `last` for what ended the reading: shown in any case, after the others. */
  add(line: string, rank?: "last"): void {
    if (rank === "last") this.#last = [line];
    else if (this.#lines.length < SHOWN_LINES) this.#lines.push(line);
    else this.#more += 1;
  }

  lines(): string[] {
    const more =
      this.#more === 0 ? [] : [`and ${this.#more} more ${this.#what}${this.#more === 1 ? "" : "s"}`];
    return [...this.#lines, ...more, ...this.#last];
  }
}
