import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { CancelledError } from "../../api/errors";
import {
  collectDetections,
  readDetections,
  writeDetections,
  type Detections,
  type DetectionKind,
} from "../../page-shield/detections";
import type { RecordStatus } from "../../page-shield/records";
import { Host } from "../../runtime/host";
import { LookupError } from "../../runtime/lookup";
import { pluralize } from "../../runtime/values";
import { CommandError, InterruptedError } from "../../terminal/errors";
import { requireCredential, withVariables } from "../../terminal/failure";
import { printToStderr, type Io } from "../../terminal/io";

export interface SaveOptions {
  readonly zone: string;
  readonly out: string;
  readonly include: readonly DetectionKind[];
  readonly status: readonly RecordStatus[];
  readonly hosts?: string;
  readonly force: boolean;
}

/** @throws CommandError if it would overwrite another file; ApiError if a read fails. In either case, the file stays
 * unchanged.
 */
export async function saveSnapshot(io: Io, options: SaveOptions): Promise<void> {
  const { zone: zoneId, out, include, status, hosts, force } = options;
  const file = resolve(io.cwd, out);
  if (!force) refuseOtherFiles(file, out, zoneId);
  const stop = io.interrupted();
  const warn = (line: string): void => printToStderr(io, withVariables(line));
  const host = new Host({ config: () => undefined, env: io.env, out: { info: warn, warn }, signal: stop });
  try {
    requireCredential(host.settings);
    const found = await collectDetections(host, { zoneId, include, status, hosts });
    const isNew = await writeDetections(file, found);
    printToStderr(
      io,
      `edgeguard: ${out} ${isNew ? "now has" : "is up to date with"} ${inWords(found)} in zone ${zoneId}.`,
    );
  } catch (error) {
    if (stop.aborted && error instanceof CancelledError)
      throw new InterruptedError(`interrupted. ${out} is unchanged.`);
    throw error;
  } finally {
    await host.close();
  }
}

function refuseOtherFiles(file: string, out: string, zoneId: string): void {
  if (!existsSync(file)) return;
  const held = zoneOf(file);
  if (held === zoneId) return;
  throw new CommandError(
    `${out} is ${held === undefined ? "not a snapshot of detections" : `the snapshot of zone ${held}`}. Pass another file with --out, or --force to overwrite it.`,
  );
}

function zoneOf(file: string): string | undefined {
  try {
    return readDetections(file).zoneId;
  } catch (error) {
    if (error instanceof LookupError) return undefined;
    throw error;
  }
}

function inWords({ scripts, connections, cookies }: Detections): string {
  const kinds = { script: scripts, connection: connections, cookie: cookies };
  return Object.entries(kinds)
    .flatMap(([noun, found]) => (found === undefined ? [] : [pluralize(found.length, noun)]))
    .join(", ");
}
