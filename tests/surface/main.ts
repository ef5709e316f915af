import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { REPOSITORY } from "../support/repository";
import { gapsIn, PLUGIN_SCHEMA, pluginSchema } from "./plugin-schema";
import { registryPages } from "./examples/pages";
import { apiReport, REPORT } from "./report";
import { schemaFiles } from "./schemas";

/**
 * Writes the public surface: its report, the JSON schemas and the Registry's pages. With --check it compares instead, and shows each file's first
 * difference. Either fails if the Registry's pages would lack something.
 */
async function main(): Promise<void> {
  const plugin = pluginSchema();
  const schema: unknown = JSON.parse(plugin);
  for (const gap of gapsIn(schema)) fail(gap);
  const files = new Map([
    [REPORT, await apiReport()],
    [PLUGIN_SCHEMA, plugin],
    ...registryPages(schema),
    ...schemaFiles(),
  ]);
  for (const [path, text] of files) {
    if (process.argv.includes("--check")) compare(path, text);
    else if (text === undefined) rmSync(path);
    else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
  }
}

function compare(path: string, text = ""): void {
  const committed = (existsSync(path) ? readFileSync(path, "utf8") : "").split("\n");
  const current = text.split("\n");
  const line = current.findIndex((each, index) => each !== committed[index]);
  if (line < 0 && current.length === committed.length) return;
  const at = line < 0 ? current.length : line;
  fail(
    [
      `${relative(REPOSITORY, path)}:${at + 1} is not the public surface. Run \`npm run api\` and commit the change.`,
      `- ${committed[at] ?? ""}`,
      `+ ${current[at] ?? ""}`,
    ].join("\n"),
  );
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}

void main();
