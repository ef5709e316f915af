import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { z } from "zod";
import { command, start } from "./engines";
import { fanOut, type Finished } from "./fan-out";
import { readZones, type Zone } from "./zones-file";

const HELP = `Deploys index.ts to every zone in a file, with one stack per zone, a few at a time.

Usage: ts-node deploy.ts [preview|up] [options]

  preview  plan every zone, and write one report on all of them
  up       deploy (default)

Options:
  --zones <file>        the zones (default: zones.json beside this script)
  --only <stack>        only this stack; repeatable
  --parallel <count>    zones at a time (default: 4)
  --engine <command>    a command with the Pulumi CLI's arguments, such as "npx edgeguard-local" (default: pulumi)
  --report <file>       where preview writes its report (default: report.md)
  --fail-on <kinds>     dangers that make preview fail, see \`edgeguard report --help\`; up then plans all zones first, and
                        deploys none if one fails or has such a danger
  --accept <digest>     accept the dangers that this digest from the report covers; repeatable
  -h, --help            show this help

Exits with 1 if a zone failed or has dangers of the kinds in --fail-on. Without --fail-on, the other zones are still deployed.
Example: ts-node deploy.ts preview --fail-on irreversible,unprotect,blocks,removes,unseen --parallel 8`;

type Options = ReturnType<typeof optionsIn>["values"];

async function main(): Promise<number> {
  const { values, positionals } = optionsIn(process.argv.slice(2));
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const [verb = "up", ...rest] = positionals;
  if ((verb !== "up" && verb !== "preview") || rest.length > 0)
    throw new Error(`${positionals.join(" ")}: unknown command. Pass preview or up`);
  const parallel = Number(values.parallel);
  if (!Number.isInteger(parallel) || parallel < 1)
    throw new Error(`--parallel ${values.parallel} is not a whole number of 1 or more`);
  const zones = chosen(readZones(values.zones), values);
  const engine = command(values.engine.split(" "));
  const each = (doing: string, work: (zone: Zone) => Promise<string>): Promise<Finished<Zone>[]> =>
    fanOut(zones, parallel, (zone) => {
      console.error(`${zone.stack}: ${doing}`);
      return work(zone);
    });
  // With --fail-on, nothing is deployed before the report on all plans has passed.
  if (verb === "preview" || values["fail-on"] !== undefined) {
    const plans = await each("planning", (zone) => engine.plan(zone));
    const code = Math.max(await report(plans, values), summary(plans.map(countsOrFailure), "planned"));
    if (verb === "preview" || code !== 0) return code;
  }
  return summary(await each("started", (zone) => engine.up(zone)), "done");
}

function optionsIn(args: string[]) {
  return parseArgs({
    args,
    allowPositionals: true,
    options: {
      zones: { type: "string", default: path.join(__dirname, "zones.json") },
      only: { type: "string", multiple: true },
      parallel: { type: "string", default: "4" },
      engine: { type: "string", default: "pulumi" },
      report: { type: "string", default: "report.md" },
      "fail-on": { type: "string" },
      accept: { type: "string", multiple: true },
      help: { type: "boolean", short: "h", default: false },
    },
  });
}

function chosen(all: readonly Zone[], { only, zones }: Options): readonly Zone[] {
  const unknown = only?.filter((stack) => !all.some((zone) => zone.stack === stack)) ?? [];
  if (unknown.length > 0) throw new Error(`--only ${unknown.join(", ")}: no such stack in ${zones}`);
  return all.filter((zone) => only?.includes(zone.stack) ?? true);
}

/** Writes one report on the plans of all zones. */
async function report(finished: readonly Finished<Zone>[], options: Options): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), "many-zones-"));
  try {
    const plans = finished.flatMap(({ item, outcome }) => {
      if ("failure" in outcome) return [];
      const file = path.join(folder, `${item.stack.replaceAll("/", ".")}.json`);
      writeFileSync(file, outcome.changes);
      return [file];
    });
    if (plans.length === 0) return 1;
    const failOn = options["fail-on"] === undefined ? [] : ["--fail-on", options["fail-on"]];
    const accepted = options.accept?.flatMap((digest) => ["--accept", digest]) ?? [];
    const { code, stdout, stderr } = await start("npx", [
      "--no-install",
      "edgeguard",
      "report",
      ...failOn,
      ...accepted,
      ...plans,
    ]);
    process.stderr.write(stderr);
    if (stdout !== "") writeFileSync(options.report, stdout);
    console.log(stdout === "" ? "No report was written." : `The report is in ${options.report}.`);
    return code;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const plan = z.looseObject({
  changeSummary: z.record(z.string(), z.number()).nullish(),
  diagnostics: z
    .array(z.looseObject({ severity: z.string().optional(), message: z.string().optional() }))
    .nullish(),
});

/** "create 2, same 1", or why the preview failed. */
function countsOrFailure({ outcome, ...rest }: Finished<Zone>): Finished<Zone> {
  if ("failure" in outcome) return { ...rest, outcome };
  const { changeSummary, diagnostics } = plan.parse(JSON.parse(outcome.changes));
  const errors =
    diagnostics?.filter(({ severity }) => severity === "error").map(({ message }) => message ?? "") ?? [];
  const [reason] = [...errors.filter((text) => !/^(error: )?preview failed\s*$/.test(text)), ...errors];
  if (reason !== undefined) return { ...rest, outcome: { failure: reason.replace(/^error: /, "").trim() } };
  const counts = Object.entries(changeSummary ?? {}).map(([what, count]) => `${what} ${count}`);
  return { ...rest, outcome: { changes: counts.join(", ") } };
}

const DEFAULT_COLUMNS = 80;

/** Prints a table as wide as the terminal, and how many zones failed. */
function summary(finished: readonly Finished<Zone>[], done: string): number {
  const rows = finished.map(({ item, outcome, seconds }) => [
    item.stack,
    "failure" in outcome ? "failed" : done,
    "failure" in outcome ? outcome.failure : outcome.changes,
    seconds.toFixed(1),
  ]);
  const head = ["stack", "", "result", "seconds"];
  const borders = 3 * head.length + 1;
  const widest = (column: number, most: number): number =>
    Math.min(most, Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const [stack, state, seconds] = [widest(0, 24), widest(1, 10), widest(3, 8)];
  const columns = process.stdout.isTTY
    ? process.stdout.columns
    : Number(process.env["COLUMNS"]) || DEFAULT_COLUMNS;
  const result = Math.min(widest(2, Infinity), Math.max(20, columns - borders - stack - state - seconds));
  const table = new Table({
    head,
    colWidths: [stack, state, result, seconds].map((width) => width + 2),
    wordWrap: true,
    wrapOnWordBoundary: false, // A URL or ID may be longer than the column.
    style: { head: [], border: [] },
  });
  table.push(...rows);
  const failures = finished.filter(({ outcome }) => "failure" in outcome).length;
  console.log(table.toString());
  console.log(`${finished.length - failures} ${done}, ${failures} failed`);
  return failures === 0 ? 0 : 1;
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 2;
  },
);
