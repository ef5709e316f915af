import { isBag } from "../runtime/values";
import type { Body } from "./batches";
import type { Row } from "./catalog";
import { checkEntry, FILE_SPELLING, type Given } from "./check-entry";
import { recordOf, type Entry } from "./entry";
import { readFileOf } from "./source-directory";
import { SourceError } from "./source-error";
import type { SourceHandle } from "./source-handle";
import { givenBy, type Source } from "./source";

/** Entries that can be sent. Their values are fetched from the source whenever a body is made. */
export interface Writable {
  /** @throws SourceError where the source is no longer what was checked. */
  fill(body: Body, rows: readonly Row[]): Promise<void>;
}

/** Bytes of the file read at a time, but for a longer entry; and the longest gap between entries that is read with them. */
const WINDOW_BYTES = 1024 * 1024;
const GAP_BYTES = 64 * 1024;
/** Files of a directory read at the same time. */
const FILES_AT_ONCE = 16;

/** @param file the open file where the source is one. */
export function writableOf(source: Source, file: SourceHandle | undefined): Writable {
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
        fill: (body, rows) => {
          for (const { key } of rows) body.add(entryOf(givenBy(key, source.entries[key])));
          return Promise.resolve();
        },
      };
    case "directory":
      return {
        fill: async (body, rows) => {
          for (let i = 0; i < rows.length; i += FILES_AT_ONCE) {
            const portion = rows.slice(i, i + FILES_AT_ONCE);
            const given = await Promise.all(portion.map(({ key }) => readFileOf(source.options, key)));
            given.forEach((one, at) => {
              const entry = entryOf(one);
              if (recordOf(entry).value !== portion[at]?.value) throw changed();
              body.add(entry);
            });
          }
        },
      };
    case "file":
      if (file === undefined) throw new Error(`${source.name} is not open`);
      return {
        fill: async (body, rows) => {
          for (const { from, to, inside } of windows(rows)) {
            const bytes = await file.read(Buffer.allocUnsafe(to - from), from);
            // Looked at after the reading: what was written before it is not what was checked.
            if (bytes.length < to - from || !(await file.isUntouched())) throw changed();
            for (const { isAsIs, start, end } of inside) {
              if (isAsIs) body.addText(bytes, start - from, end - from);
              else body.add(entryOf(givenIn(bytes.toString("utf8", start - from, end - from))));
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
  readonly inside: readonly { readonly isAsIs: boolean; readonly start: number; readonly end: number }[];
}

/** Parts of the file that hold the entries. */
function* windows(rows: readonly Row[]): Generator<Window> {
  let inside: { isAsIs: boolean; start: number; end: number }[] = [];
  let [from, to] = [0, 0];
  for (const { isAsIs, start = NaN, end = NaN } of rows) {
    if (inside.length > 0 && (start < to || start - to > GAP_BYTES || end - from > WINDOW_BYTES)) {
      yield { from, to, inside };
      inside = [];
    }
    if (inside.length === 0) [from, to] = [start, end];
    to = end;
    inside.push({ isAsIs, start, end });
  }
  if (inside.length > 0) yield { from, to, inside };
}
