import type { Context } from "../runtime/lifecycle";

/** Shortest time between two lines about the same work. */
const LINE_EVERY_MS = 5_000;

/** Says how far long work has come. Work that is done within seconds is not mentioned. */
export class Progress {
  readonly #startedMs = performance.now();
  #saidMs = this.#startedMs;
  #done = 0;

  constructor(
    private readonly options: {
      readonly say: Context["say"];
      readonly namespaceId: string;
      /** As in `entries written`. */
      readonly what: string;
      readonly total: number | undefined;
    },
  ) {}

  get done(): number {
    return this.#done;
  }

  add(count: number): void {
    this.#done += count;
    const { say, namespaceId, what, total } = this.options;
    const now = performance.now();
    if (now - this.#saidMs < LINE_EVERY_MS || this.#done === total) return;
    this.#saidMs = now;
    const rate = this.#done / ((now - this.#startedMs) / 1000);
    const of = total === undefined ? "" : ` of ${figure(total)}`;
    const left = total === undefined ? "" : `, about ${duration((total - this.#done) / rate)} left`;
    say.info(
      `KvEntries ${namespaceId}: ${figure(this.#done)}${of} ${what}, ${figure(Number(rate.toPrecision(2)))} per second${left}`,
    );
  }
}

function figure(number: number): string {
  return number.toLocaleString("en-US");
}

function duration(seconds: number): string {
  return seconds <= 120 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
