import { existsSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { readZones } from "../../page-shield/inventory/check";
import { parseInventory } from "../../page-shield/inventory/file";
import {
  addEntries,
  emptyInventory,
  findProposals,
  type Proposals,
} from "../../page-shield/inventory/propose";
import { applying, pluralize } from "../../basics/words";
import { CommandError } from "../../terminal/errors";
import { unreadable } from "../../terminal/files";
import { withHost } from "../../terminal/host";
import { printToStderr, type Io } from "../../terminal/io";

export interface ProposeOptions {
  readonly zone: readonly string[];
  readonly file: string;
  readonly hosts?: string;
  readonly owner?: string;
  readonly justification?: string;
  readonly threshold: number;
  readonly pinHashes: boolean;
}

/** @throws CommandError if a zone can't be read or the file can't be written. In either case, the file stays unchanged. */
export async function proposeEntries(io: Io, options: ProposeOptions): Promise<void> {
  const { zone, file, hosts, owner, justification } = options;
  const path = resolve(io.cwd, file);
  const isNew = !existsSync(path);
  const text = isNew ? emptyInventory(file) : await readInventoryText(path, file);
  const inventory = parseInventory(file, Buffer.from(text));
  const needs = { signal: io.interrupted(), unfinished: `${file} is unchanged.` };
  const zones = await withHost(io, needs, (host) => readZones(host, zone, hosts));
  const unread = zones.flatMap(({ zoneId, problem }) =>
    problem?.kind === "not read" ? [`zone ${zoneId}: ${problem.message}`] : [],
  );
  if (unread.length > 0) throw new CommandError(`${unread.join("\n")}\n${file} is unchanged.`);
  for (const { zoneId, problem } of zones)
    if (problem !== undefined) printToStderr(io, `edgeguard: zone ${zoneId}: ${problem.message}`);
  const proposals = findProposals(inventory, zones, options);
  const added = addEntries(inventory, text, proposals.entries, { owner, justification });
  if (isNew || added !== text) await replaceFile(path, file, added);
  for (const line of summaryOf(file, proposals)) printToStderr(io, `edgeguard: ${line}`);
}

function summaryOf(file: string, { entries, malicious, unusable }: Proposals): string[] {
  return applying(
    entries.length === 0
      ? `${file} already covers all the scripts that were seen${malicious.length + unusable.length === 0 ? "" : ", except those listed below"}.`
      : `${file} has ${pluralize(entries.length, "new entry")} without an approval. Review and approve ${entries.length === 1 ? "it" : "each"}: fill in its "approval" line.`,
    malicious.length > 0 &&
      `${pluralize(malicious.length, "malicious or suspicious script")} not proposed: ${malicious.join(", ")}. Remove ${malicious.length === 1 ? "it" : "them"} from your pages.`,
    unusable.length > 0 &&
      `${pluralize(unusable.length, "script")} not proposed, because the URL is invalid or contains a user name: ${unusable.join(", ")}.`,
  );
}

async function readInventoryText(path: string, file: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw unreadable(`the script inventory ${file}`, path, error);
  }
}

/** Replaces the file atomically. If the write is interrupted, the old file stays. */
async function replaceFile(path: string, file: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(draft, text);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw new CommandError(
      `${file} can't be written (${error instanceof Error ? error.message : String(error)}). Check that its directory exists and that you can write to it.`,
    );
  }
}
