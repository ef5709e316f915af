import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { REPOSITORY } from "../support/repository";
import { apiReport, REPORT } from "./report";

/** Writes the report of the public surface. With --check it compares instead, and shows the first difference. */
async function main(): Promise<void> {
  const report = await apiReport();
  if (!process.argv.includes("--check")) {
    writeFileSync(REPORT, report);
    return;
  }
  const committed = readFileSync(REPORT, "utf8").split("\n");
  const current = report.split("\n");
  const line = current.findIndex((text, index) => text !== committed[index]);
  if (line < 0 && current.length === committed.length) return;
  const at = line < 0 ? current.length : line;
  console.error(
    [
      `${relative(REPOSITORY, REPORT)}:${at + 1} is not the public surface. Run \`npm run api\` and commit the change.`,
      `- ${committed[at] ?? ""}`,
      `+ ${current[at] ?? ""}`,
    ].join("\n"),
  );
  process.exitCode = 1;
}

void main();
