import { createWriteStream } from "node:fs";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { visible } from "../basics/printable";
import { SECRET_MODE, type Staging } from "../import/staging";
import { csvLine } from "../terminal/csv";
import { write, writeHtml } from "./html";
import { SURVEY_SCHEMA, type Head, type Zone } from "./model";
import { COLUMN_NAMES, rowOf } from "./table";

/** Writes one of the survey's files, zone by zone. */
type Writer = (out: Writable, head: Head, zones: AsyncIterable<Zone>) => Promise<void>;

/** The survey's files, with the functions that write them. */
const FILES: Readonly<Record<string, Writer>> = {
  "survey.json": writeJson,
  "survey.csv": writeCsv,
  "survey.html": writeHtml,
};

export const FILE_NAMES: readonly string[] = Object.keys(FILES);

/** Writes all files to the staging directory. Only their owner can read them. */
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

/** Writes survey.json. Zones come last, one per line. */
async function writeJson(out: Writable, head: Head, zones: AsyncIterable<Zone>): Promise<void> {
  const before = JSON.stringify({ $schema: SURVEY_SCHEMA, ...head }, undefined, 2).slice(0, -"\n}".length);
  await write(out, `${visible(before)},\n  "zones": [`);
  let isFirst = true;
  for await (const zone of zones) {
    await write(out, `${isFirst ? "" : ","}\n    ${visible(JSON.stringify(zone))}`);
    isFirst = false;
  }
  await write(out, "\n  ]\n}\n");
}

async function writeCsv(out: Writable, _head: Head, zones: AsyncIterable<Zone>): Promise<void> {
  await write(out, csvLine(COLUMN_NAMES));
  for await (const zone of zones) await write(out, csvLine(rowOf(zone)));
}
