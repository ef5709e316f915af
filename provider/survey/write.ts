import { once } from "node:events";
import { createWriteStream } from "node:fs";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { SECRET_MODE, type Staging } from "../import/staging";
import { csvLine } from "../terminal/csv";
import { SURVEY_SCHEMA, type Head, type Zone } from "./model";
import { COLUMN_NAMES, rowOf } from "./table";

/** Writes a file of the survey as its zones arrive. */
type Writer = (out: Writable, head: Head, zones: AsyncIterable<Zone>) => Promise<void>;

/** The files of a survey. */
const FILES: Readonly<Record<string, Writer>> = {
  "survey.json": writeJson,
  "survey.csv": writeCsv,
};

export const FILE_NAMES: readonly string[] = Object.keys(FILES);

/** Writes all files next to their final place, readable only by their owner. */
export async function writeFiles(
  staging: Staging,
  head: Head,
  zones: () => AsyncIterable<Zone>,
): Promise<void> {
  for (const [name, writer] of Object.entries(FILES)) {
    const out = createWriteStream(await staging.stage(name), { mode: SECRET_MODE, flags: "wx" });
    const done = finished(out);
    done.catch(() => undefined); // Awaited below, once the writer has noticed.
    await writer(out, head, zones());
    out.end();
    await done;
    staging.keep(name);
  }
}

/** Writes a part, and waits for a slow disk. */
export async function put(out: Writable, text: string): Promise<void> {
  if (!out.write(text)) await Promise.race([once(out, "drain"), finished(out, { readable: false })]);
}

/** Zones come last, one per line. */
async function writeJson(out: Writable, head: Head, zones: AsyncIterable<Zone>): Promise<void> {
  const before = JSON.stringify({ $schema: SURVEY_SCHEMA, ...head }, undefined, 2).slice(0, -"\n}".length);
  await put(out, `${before},\n  "zones": [`);
  let isFirst = true;
  for await (const zone of zones) {
    await put(out, `${isFirst ? "" : ","}\n    ${JSON.stringify(zone)}`);
    isFirst = false;
  }
  await put(out, "\n  ]\n}\n");
}

async function writeCsv(out: Writable, _head: Head, zones: AsyncIterable<Zone>): Promise<void> {
  await put(out, csvLine(COLUMN_NAMES));
  for await (const zone of zones) await put(out, csvLine(rowOf(zone)));
}
