import { createHash } from "node:crypto";
import type { Body } from "./batches";
import type { Row, Source } from "./catalog";
import {
  checkEntry,
  FILE_SPELLING,
  type EntryDefaults,
  type EntryText,
  type RawEntry,
  type Place,
} from "./entry";
import { readItems } from "./json-items";
import { SourceError, SourceHandle } from "./source-handle";
import { isJsonObject } from "../basics/json";

/** How many bytes of the file are read at a time, unless an entry is longer. */
const WINDOW_BYTES = 1024 * 1024;
/** Gaps between entries up to this size are read rather than skipped. */
const GAP_BYTES = 64 * 1024;

/** A bulk file: a JSON array of entries. It stays open, so that what's sent comes from the file that was read. */
export class FileSource implements Source {
  readonly kind = "file";
  readonly name: string;
  readonly defaults: EntryDefaults;
  readonly #path: string;
  #opened: SourceHandle | undefined;
  #readSha256: string | undefined;

  /** @param file the file's absolute path, and its name in messages. */
  constructor(
    { path, name }: { readonly path: string; readonly name: string },
    defaults: EntryDefaults = {},
  ) {
    this.name = name;
    this.defaults = defaults;
    this.#path = path;
  }

  get readSha256(): string | undefined {
    return this.#readSha256;
  }

  async sha256(): Promise<string> {
    return await (await this.#open()).sha256();
  }

  async *read(): AsyncGenerator<readonly RawEntry[]> {
    const hash = createHash("sha256");
    for await (const items of readItems(await this.#open(), hash)) {
      yield items.map(({ value, position, line, offset, bytes }) =>
        rawEntryOf(value, { source: this.name, position, line }, { offset, bytes }),
      );
    }
    this.#readSha256 = hash.digest("hex");
  }

  async fill(body: Body, rows: readonly Row[]): Promise<void> {
    const file = await this.#open();
    const hasDefaults = Object.keys(this.defaults).length > 0;
    const changed = (): SourceError =>
      new SourceError(`${this.name} has changed since it was checked. The remaining entries were not sent.`);
    for (const { from, to, inside } of windows(rows)) {
      const bytes = await file.read(Buffer.allocUnsafe(to - from), from);
      // This is checked after reading, so that any earlier write is noticed: it would have changed what was checked.
      if (bytes.length < to - from || !(await file.isUntouched())) throw changed();
      for (const { start, end, sentBytes } of inside) {
        // Whatever is sent for such a text has its size, so the text already says it in the shortest way.
        if (!hasDefaults && sentBytes === end - start) {
          body.addText(bytes.subarray(start - from, end - from));
          continue;
        }
        const given = rawEntryOf(JSON.parse(bytes.toString("utf8", start - from, end - from)));
        const checked = checkEntry(given, this.defaults);
        if ("problems" in checked) throw changed();
        body.add(checked.entry);
      }
    }
  }

  async close(): Promise<void> {
    await this.#opened?.close();
    this.#opened = undefined;
  }

  async #open(): Promise<SourceHandle> {
    return (this.#opened ??= await SourceHandle.open(this.#path, this.name));
  }
}

function rawEntryOf(members: unknown, place: Place = {}, text?: EntryText): RawEntry {
  if (!isJsonObject(members))
    return { place, key: undefined, unreadable: "is not an object; expected { key, value, … }" };
  const { key } = members;
  return { place, key, members, spelling: FILE_SPELLING, ...(text && { text }) };
}

interface Text {
  readonly start: number;
  readonly end: number;
  readonly sentBytes: number;
}

interface Window {
  readonly from: number;
  readonly to: number;
  readonly inside: readonly Text[];
}

/** Yields the parts of the file that contain the entries. */
function* windows(rows: readonly Row[]): Generator<Window> {
  let inside: Text[] = [];
  let [from, to] = [0, 0];
  for (const { start = NaN, end = NaN, sentBytes } of rows) {
    if (inside.length > 0 && (start < to || start - to > GAP_BYTES || end - from > WINDOW_BYTES)) {
      yield { from, to, inside };
      inside = [];
    }
    if (inside.length === 0) [from, to] = [start, end];
    to = end;
    inside.push({ start, end, sentBytes });
  }
  if (inside.length > 0) yield { from, to, inside };
}
