import { count } from "../kv/check-entry";
import type { Io } from "./io";

const EVERY_MS = 100;
const CLEAR = "\r\u001b[K";

/** One line that says how far long work has come. On a terminal only: a log is not to be filled with it. */
export class ProgressLine {
  #done = 0;
  #shownMs = -Infinity;

  constructor(
    private readonly io: Io,
    private readonly what: string,
    private readonly total: number,
  ) {}

  get done(): number {
    return this.#done;
  }

  add(more: number): void {
    this.#done += more;
    const now = performance.now();
    if (this.io.stderr.isTTY !== true || now - this.#shownMs < EVERY_MS) return;
    this.#shownMs = now;
    this.io.stderr.write(`${CLEAR}${count(this.#done)} of ${count(this.total)} ${this.what}`);
  }

  /** Makes room for the closing words. */
  clear(): void {
    if (this.#shownMs !== -Infinity) this.io.stderr.write(CLEAR);
  }
}
