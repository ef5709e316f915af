import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pulumiCli, type EngineCommand } from "edgeguard-local";
import { install, openWorkshop, type Workshop } from "./install";
import { compile, play, runUnitTest } from "./play";
import { recordRow } from "./result";
import { enginesOf, ROWS, type Row } from "./rows";

/**
 * Plays the rows: `npm run test:matrix`. With words, only the rows whose name contains one: `npm run test:matrix pnpm tsx`.
 * What passed is recorded for the reference's table, and what failed is taken out of it.
 */

/** Installing is mostly waiting, an engine mostly computing: two at a time keep a small machine busy. */
const PARALLEL = 2;

async function main(words: readonly string[]): Promise<void> {
  const cli = pulumiCli();
  if (cli === undefined) throw new Error("The rows are played on the Pulumi CLI, too: put it on PATH.");
  const chosen = ROWS.filter(
    ({ name }) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word.toLowerCase())),
  );
  const home = mkdtempSync(join(tmpdir(), "edgeguard-matrix-"));
  try {
    const workshop = await openWorkshop(home);
    const queue = [...chosen];
    let passed = 0;
    const work = async (): Promise<void> => {
      for (let row = queue.shift(); row !== undefined; row = queue.shift()) {
        const started = Date.now();
        const problem = await problemOf(workshop, row);
        recordRow(row, problem === undefined ? versionOf(cli) : undefined);
        if (problem === undefined) passed += 1;
        const seconds = ((Date.now() - started) / 1000).toFixed(0);
        console.log(
          `${problem === undefined ? "passed" : "FAILED"}  ${row.kind}: ${row.name} (${seconds} s)`,
        );
        if (problem !== undefined) console.log(problem);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    console.log(
      `\n${passed} of ${chosen.length} rows passed. \`npm run docs\` writes the reference's table.`,
    );
    if (passed < chosen.length) process.exitCode = 1;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Why a row didn't pass. */
async function problemOf(workshop: Workshop, row: Row): Promise<string | undefined> {
  const directory = mkdtempSync(join(workshop.home, "project-"));
  try {
    const project = await install(workshop, row, directory);
    for (const engine of enginesOf(row)) await play(project, engine);
    if (row.unitTest !== undefined) await runUnitTest(project, row.unitTest.command);
    if (row.compiles === true) await compile(project);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const versionOf = ({ name }: EngineCommand): string => name.replace(/^.* v?/, "");

void main(process.argv.slice(2));
