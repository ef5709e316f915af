import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { cliEngine } from "../support/engine";
import { packedModules } from "../support/packed";
import { testUnless } from "../support/skip";
import { inFolder, writeProject } from "./install";
import { play } from "./play";
import { ROWS, type Row } from "./rows";
import { folderPerFile } from "../support/bench";

/** The rows that need nothing from the registry; `own-project.test.ts` beside the README's has npm and the oldest SDK. */

const onCli = testUnless(cliEngine() === undefined ? "no Pulumi CLI on PATH" : undefined);
const rowOf = (name: string): Row => {
  const row = ROWS.find((each) => each.name === name);
  if (row === undefined) throw new Error(`no row is named ${name}`);
  return row;
};

const HOME = folderPerFile("matrix");
let modules: string;
beforeAll(() => {
  modules = packedModules(HOME);
});

function installed(name: string) {
  const row = rowOf(name);
  const directory = join(HOME, name.replace(/\W+/g, "-"));
  writeProject(row, directory);
  symlinkSync(modules, join(directory, "node_modules"));
  return inFolder(row, directory);
}

it("a program that is an ES module runs on the local engine", async () => {
  await play(installed("JavaScript, ES module"), "local");
});

onCli("an inline program of the Automation API runs on the Pulumi CLI", async () => {
  await play(installed("Automation API, inline program"), "cli");
});
