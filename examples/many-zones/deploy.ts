/**
 * Deploys index.ts to every zone of zones.json:
 *
 *     ts-node deploy.ts --parallel 8 [--zones zones.json] [--only shop --only blog] [--engine "edgeguard-local"]
 *
 * Ends with 1 when a zone failed; the others are done all the same.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { z } from "zod";
import { automation, command } from "./engines";
import { fanOut } from "./fan-out";

const zonesFile = z.array(z.strictObject({ stack: z.string().min(1), zoneId: z.string().length(32) }));

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      zones: { type: "string", default: path.join(__dirname, "zones.json") },
      only: { type: "string", multiple: true },
      parallel: { type: "string", default: "4" },
      engine: { type: "string" },
    },
  });
  const parallel = Number(values.parallel);
  if (!Number.isInteger(parallel) || parallel < 1) throw new Error("--parallel is a whole number from 1");
  const all = zonesFile.parse(JSON.parse(readFileSync(values.zones, "utf8")));
  const unknown = values.only?.filter((stack) => !all.some((zone) => zone.stack === stack)) ?? [];
  if (unknown.length > 0) throw new Error(`--only ${unknown.join(", ")}: not in ${values.zones}`);
  const zones = all.filter((zone) => values.only?.includes(zone.stack) ?? true);

  const [file, ...before] = values.engine?.split(" ") ?? [];
  const deploy = file === undefined ? automation : command(file, ...before);
  const finished = await fanOut(zones, parallel, async (zone) => {
    console.error(`${zone.stack}: started`);
    return deploy(zone);
  });

  const table = new Table({ head: ["zone", "", "result", "seconds"], style: { head: [], border: [] } });
  for (const { item, outcome, seconds } of finished) {
    const failed = "failure" in outcome;
    const result = failed ? outcome.failure : outcome.changes;
    table.push([
      item.stack,
      failed ? "failed" : "done",
      { content: result, wordWrap: true },
      seconds.toFixed(1),
    ]);
  }
  const failures = finished.filter(({ outcome }) => "failure" in outcome).length;
  console.log(table.toString());
  console.log(`${finished.length - failures} done, ${failures} failed`);
  process.exitCode = failures === 0 ? 0 : 1;
}

void main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
});
