import { cpus } from "node:os";

/** One figure: ours against an alternative or a bound, measured in the same run. */
export interface Row {
  readonly what: string;
  readonly ours: number;
  readonly unit: string;
  /** The alternative or bound, and its figure. */
  readonly against: string;
  readonly theirs: number;
  /** The promised ratio, if any. */
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** Whether the promise is kept; undefined if there's none. */
function kept({ ours, theirs, atMost, atLeast }: Row): boolean | undefined {
  if (atMost === undefined && atLeast === undefined) return undefined;
  return ours / theirs <= (atMost ?? Infinity) && ours / theirs >= (atLeast ?? 0);
}

function promise(row: Row): string {
  const { atMost, atLeast } = row;
  const bound = atMost === undefined ? (atLeast === undefined ? "" : `>= ${atLeast}`) : `<= ${atMost}`;
  return kept(row) === false ? `${bound}  falls short` : bound;
}

/** Prints the figures and the machine. */
export function print(rows: readonly Row[], asJson: boolean): void {
  const machine = { node: process.versions.node, cores: cpus().length };
  if (asJson) {
    const figures = rows.map((row) => ({ ...row, ratio: row.ours / row.theirs, kept: kept(row) }));
    console.log(JSON.stringify({ ...machine, figures }, null, 2));
    return;
  }
  console.log(`Node ${machine.node}, ${machine.cores} cores\n`);
  const cells = rows.map((row) => [
    row.what,
    figure(row.ours, row.unit),
    row.against,
    figure(row.theirs, row.unit),
    (row.ours / row.theirs).toFixed(2),
    promise(row),
  ]);
  const head = ["what", "ours", "against", "theirs", "ratio", "promised"];
  const widths = head.map((title, i) => Math.max(title.length, ...cells.map((row) => row[i]?.length ?? 0)));
  for (const row of [head, ...cells])
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

function figure(value: number, unit: string): string {
  return `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ${unit}`;
}

/** Median of several runs, in milliseconds. */
export async function median(runs: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}
