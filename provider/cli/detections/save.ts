import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  collectDetections,
  readDetections,
  writeDetections,
  type Detections,
  type DetectionKind,
} from "../../page-shield/detections";
import type { RecordStatus } from "../../page-shield/records";
import { LookupError } from "../../runtime/lookup";
import { inSeries, pluralize } from "../../runtime/values";
import { CommandError } from "../../terminal/errors";
import { printToStderr, type Io } from "../../terminal/io";
import { withHost } from "../with-host";

export interface SaveOptions {
  readonly zone: string;
  readonly out: string;
  readonly include: readonly DetectionKind[];
  readonly status: readonly RecordStatus[];
  readonly hosts?: string;
  readonly force: boolean;
}

/**
 * @throws CommandError if it would overwrite another file, or ApiError if a read fails. In either case, the file stays
 * unchanged.
 */
export async function saveSnapshot(io: Io, options: SaveOptions): Promise<void> {
  const { zone: zoneId, out, include, status, hosts, force } = options;
  const file = resolve(io.cwd, out);
  if (!force) refuseOtherFiles(file, out, zoneId);
  await withHost(io, `${out} is unchanged.`, async (host) => {
    const found = await collectDetections(host, { zoneId, include, status, hosts });
    const isNew = await writeDetections(file, found);
    printToStderr(
      io,
      `edgeguard: ${out} ${isNew ? "now has" : "already has"} ${inWords(found)} from zone ${zoneId}.`,
    );
  });
}

function refuseOtherFiles(file: string, out: string, zoneId: string): void {
  if (!existsSync(file)) return;
  const held = zoneOf(file);
  if (held === zoneId) return;
  throw new CommandError(
    `${out} is ${held === undefined ? "not a snapshot of detections" : `a snapshot of another zone (${held})`}. Pass another file with --out, or --force to overwrite it.`,
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
  return inSeries(
    Object.entries(kinds).flatMap(([noun, found]) =>
      found === undefined ? [] : [pluralize(found.length, noun)],
    ),
  );
}
