import { visible } from "../api/printable";
import type { Io } from "../terminal/io";

const EVERY_MS = 100;
const CLEAR = "\r\u001b[K";
const SHOWN_CHARACTERS = 76;

/** One line that says what is being done. On a terminal only: a log is not to be filled with it. */
export class StatusLine {
  #shownMs = -Infinity;

  constructor(private readonly io: Io) {}

  show(given: string): void {
    const text = visible(given);
    const now = performance.now();
    if (this.io.stderr.isTTY !== true || now - this.#shownMs < EVERY_MS) return;
    this.#shownMs = now;
    // A line that wraps cannot be cleared.
    const short = text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS - 1)}…`;
    this.io.stderr.write(`${CLEAR}${short}`);
  }

  /** Makes room for the closing words. */
  clear(): void {
    if (this.#shownMs !== -Infinity) this.io.stderr.write(CLEAR);
    this.#shownMs = -Infinity;
  }
}
