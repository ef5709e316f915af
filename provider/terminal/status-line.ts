import { escapeInvisible } from "../basics/printable";
import { formatNumber } from "../limits/workers";
import { truncate } from "../basics/words";
import type { Io } from "./io";

const EVERY_MS = 100;
const CLEAR = "\r\u001b[K";
const SHOWN_CHARACTERS = 76;

/** A single status line. It's shown only on a terminal, so that it doesn't fill up logs. */
export class StatusLine {
  readonly #stderr: Io["stderr"];
  #shownMs = -Infinity;

  constructor({ stderr }: Io) {
    this.#stderr = stderr;
  }

  show(given: string): void {
    const now = performance.now();
    if (this.#stderr.isTTY !== true || now - this.#shownMs < EVERY_MS) return;
    this.#shownMs = now;
    const text = escapeInvisible(given);
    // A wrapped line can't be cleared.
    this.#stderr.write(`${CLEAR}${truncate(text, SHOWN_CHARACTERS)}`);
  }

  clear(): void {
    if (this.#shownMs !== -Infinity) this.#stderr.write(CLEAR);
    this.#shownMs = -Infinity;
  }
}

/** A status line that shows the progress of long-running work. */
export class ProgressLine extends StatusLine {
  readonly #what: string;
  readonly #total: number;
  #done = 0;

  constructor(io: Io, what: string, total: number) {
    super(io);
    this.#what = what;
    this.#total = total;
  }

  add(more: number): void {
    this.#done += more;
    this.show(`${formatNumber(this.#done)} of ${formatNumber(this.#total)} ${this.#what}`);
  }
}
