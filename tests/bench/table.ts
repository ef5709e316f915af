/** One figure of the bench: ours against a rival or a bound, measured in the same run. */
export interface Row {
  readonly what: string;
  readonly ours: number;
  readonly unit: string;
  /** What it is held against, and its figure. */
  readonly against: string;
  readonly theirs: number;
}

export function print(rows: readonly Row[], asJson: boolean): void {
  if (asJson) {
    console.log(
      JSON.stringify(
        rows.map((row) => ({ ...row, ratio: row.ours / row.theirs })),
        null,
        2,
      ),
    );
    return;
  }
  const cells = rows.map((row) => [
    row.what,
    figure(row.ours, row.unit),
    row.against,
    figure(row.theirs, row.unit),
    (row.ours / row.theirs).toFixed(2),
  ]);
  const head = ["what", "ours", "against", "theirs", "ratio"];
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
