import { escapeInvisible } from "../api/printable";
import { formatNumber } from "../kv/entry";
import type { Io } from "./io";

const EVERY_MS = 100;
const CLEAR = "\r\u001b[K";
const SHOWN_CHARACTERS = 76;

/** One line that says what is being done. On a terminal only: a log is not to be filled with it. */
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
    // A line that wraps cannot be cleared.
    const short = text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS - 1)}…`;
    this.#stderr.write(`${CLEAR}${short}`);
  }

  /** Makes room for the closing words. */
  clear(): void {
    if (this.#shownMs !== -Infinity) this.#stderr.write(CLEAR);
    this.#shownMs = -Infinity;
  }
}

/** A status line that says how far long work has come. */
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
