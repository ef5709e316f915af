import { isBag } from "../runtime/values";
import type { Body } from "./batches";
import type { Catalog } from "./catalog";
import { checkEntry, FILE_SPELLING, type Given } from "./check-entry";
import { recordOf, type Entry } from "./entry";
import { readFileOf } from "./source-directory";
import { SourceError } from "./source-error";
import type { SourceHandle } from "./source-handle";
import { givenBy, type Source } from "./source";

/** Entries that can be sent, by row. Their values are fetched from the source whenever a body is made. */
export interface Writable {
  keyOf(row: number): string;
  /** Bytes of the entry in a body. */
  bytesOf(row: number): number;
  /** @throws SourceError where the source is no longer what was checked. */
  fill(body: Body, rows: readonly number[]): Promise<void>;
}

/** Bytes of the file read at a time, but for a longer entry; and the longest gap between entries that is read with them. */
const WINDOW_BYTES = 1024 * 1024;
const GAP_BYTES = 64 * 1024;
/** Files of a directory read at the same time. */
const FILES_AT_ONCE = 16;

/** @param file the open file where the source is one. */
export function writableOf(source: Source, catalog: Catalog, file: SourceHandle | undefined): Writable {
  const { records, texts } = catalog;
  const rows = { keyOf: (row: number) => records.key(row), bytesOf: (row: number) => texts.sentBytes(row) };
  const changed = (): SourceError =>
    new SourceError(`${source.name} has changed since it was checked: the rest was not sent.`);
  const entryOf = (given: Given): Entry => {
    const checked = checkEntry(given, source.defaults);
    if ("problems" in checked) throw changed();
    return checked.entry;
  };

  switch (source.kind) {
    case "entries":
      return {
        ...rows,
        fill: (body, some) => {
          for (const row of some) {
            const key = records.key(row);
            body.add(entryOf(givenBy(key, source.entries[key])));
          }
          return Promise.resolve();
        },
      };
    case "directory":
      return {
        ...rows,
        fill: async (body, some) => {
          for (let i = 0; i < some.length; i += FILES_AT_ONCE) {
            const portion = some.slice(i, i + FILES_AT_ONCE);
            const given = await Promise.all(
              portion.map((row) => readFileOf(source.options, records.key(row))),
            );
            given.forEach((one, at) => {
              const entry = entryOf(one);
              if (recordOf(entry).value !== records.get(portion[at] ?? 0).value) throw changed();
              body.add(entry);
            });
          }
        },
      };
    case "file":
      if (file === undefined) throw new Error(`${source.name} is not open`);
      return {
        ...rows,
        fill: async (body, some) => {
          for (const { from, to, rows: inside } of windows(some, catalog)) {
            const bytes = await file.read(Buffer.allocUnsafe(to - from), from);
            // Looked at after the reading: what was written before it is not what was checked.
            if (bytes.length < to - from || !(await file.isUntouched())) throw changed();
            for (const row of inside) {
              const start = texts.offset(row) - from;
              const end = start + texts.length(row);
              if (texts.isAsIs(row)) body.addText(bytes, start, end);
              else body.add(entryOf(givenIn(bytes.toString("utf8", start, end))));
            }
          }
        },
      };
  }
}

function givenIn(text: string): Given {
  const members: unknown = JSON.parse(text);
  return isBag(members)
    ? { place: {}, key: members["key"], members, spelling: FILE_SPELLING }
    : { place: {}, key: undefined, unreadable: "is no object" };
}

interface Window {
  readonly from: number;
  readonly to: number;
  readonly rows: readonly number[];
}

/** Parts of the file that hold the entries. */
function* windows(rows: readonly number[], { texts }: Catalog): Generator<Window> {
  let inside: number[] = [];
  let [from, to] = [0, 0];
  for (const row of rows) {
    const start = texts.offset(row);
    const end = start + texts.length(row);
    if (inside.length > 0 && (start < to || start - to > GAP_BYTES || end - from > WINDOW_BYTES)) {
      yield { from, to, rows: inside };
      inside = [];
    }
    if (inside.length === 0) [from, to] = [start, end];
    to = end;
    inside.push(row);
  }
  if (inside.length > 0) yield { from, to, rows: inside };
}
