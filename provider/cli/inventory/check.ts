import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { runCheck } from "../../page-shield/inventory/check";
import { readInventory } from "../../page-shield/inventory/file";
import type { InventoryCheck } from "../../page-shield/inventory/model";
import { isJsonObject } from "../../basics/json";
import { pluralize } from "../../basics/words";
import { CommandError } from "../../terminal/errors";
import { withVariables } from "../../terminal/failure";
import { makeFolder } from "../../terminal/files";
import { withHost } from "../../terminal/host";
import { print, printToStderr, type Io } from "../../terminal/io";
import { WRITERS, type Format } from "./formats";

export interface CheckOptions {
  readonly zone: readonly string[];
  readonly file: string;
  readonly hosts?: string;
  readonly format: Format;
  /** The directory for the evidence files. */
  readonly evidence?: string;
  readonly expiringDays: number;
  readonly threshold: number;
}

/** @throws CommandError if there are findings. They're printed first. */
export async function checkInventory(io: Io, options: CheckOptions): Promise<void> {
  const { zone, file, hosts, format, evidence, expiringDays, threshold } = options;
  const inventory = readInventory(resolve(io.cwd, file), file);
  const needs = { signal: io.interrupted(), unfinished: "Nothing was checked." };
  const check = await withHost(io, needs, async (host) => {
    const args = { inventory, zoneIds: zone, expiringDays, threshold };
    return withSettingNames(
      await runCheck(host, "inventory check", { ...args, ...(hosts !== undefined && { hosts }) }),
    );
  });
  await print(io, WRITERS[format](check));
  if (evidence !== undefined) await writeEvidence(io, evidence, check);
  if (check.passed) return;
  throw new CommandError(`${pluralize(check.findings.length, "finding")} in the check of ${file}.`);
}

/** Replaces the names of settings with those of environment variables, because the command line has no stack. */
function withSettingNames(check: InventoryCheck): InventoryCheck {
  return {
    ...check,
    zones: check.zones.map(({ problem, ...zone }) => ({
      ...zone,
      ...(problem !== undefined && { problem: withVariables(problem) }),
    })),
    findings: check.findings.map((finding) => ({ ...finding, message: withVariables(finding.message) })),
    requirements: check.requirements.map((each) => ({ ...each, why: withVariables(each.why) })),
  };
}

const EVIDENCE = { md: "markdown", json: "json", csv: "csv" } as const satisfies Record<string, Format>;

/**
 * Writes the evidence in each format. The file names contain the time of the check, so that no file overwrites earlier
 * evidence.
 */
async function writeEvidence(io: Io, folder: string, check: InventoryCheck): Promise<void> {
  const path = resolve(io.cwd, folder);
  const name = `script-inventory-${check.checkedAt.replace(/[-:]|\.\d+/g, "")}`;
  makeFolder(path);
  try {
    for (const [ending, format] of Object.entries(EVIDENCE))
      await writeFile(join(path, `${name}.${ending}`), WRITERS[format](check), { flag: "wx" });
  } catch (error) {
    const code = isJsonObject(error) ? error["code"] : undefined;
    const problem = `the evidence can't be written to ${path}`;
    throw new CommandError(
      code === "EEXIST"
        ? `${problem}: it has evidence from the same second. Run the check again.`
        : `${problem}: ${typeof code === "string" ? code : String(error)}. Check that you can write to that directory.`,
    );
  }
  printToStderr(io, `edgeguard: evidence written to ${join(folder, name)}.md, .json and .csv.`);
}
