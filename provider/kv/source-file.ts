import { isAscii, isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { isBag } from "../runtime/values";
import { FILE_SPELLING, MOST_LEVELS, notExact, type Given } from "./check-entry";
import { inexactNumber, isDeeper } from "./exact";
import { EntryScanner, NotPlainError } from "./scan";
import { SourceError } from "./source-error";
import { readCarefully } from "./source-file-careful";
import { SourceHandle } from "./source-handle";

/** Bytes read at a time; more of them where entries are long, for each costs a request to the file system. */
const CHUNK_BYTES = 64 * 1024;
const LONG_CHUNK_BYTES = 1024 * 1024;
/** Entries in a chunk, below which they are long. */
const FEW_ENTRIES = 32;
const BYTE_ORDER_MARK = Buffer.from("\ufeff");

/** The CLI's bulk JSON, an array of objects. */
export class BulkFile {
  #sha256: string | undefined;

  readonly #path: string;
  readonly #name: string;

  /** @param name what messages call it. */
  constructor(path: string, name: string) {
    this.#path = path;
    this.#name = name;
  }

  /** Of the bytes that the entries were found in, 64 hexadecimal digits; known when all of them were read. */
  get sha256(): string | undefined {
    return this.#sha256;
  }

  /**
   * Every entry, some at a time, never the whole file.
   *
   * @throws SourceError, which names the line, where the file is not such an array.
   */
  async *read(): AsyncGenerator<readonly Given[]> {
    const file = await SourceHandle.open(this.#path, this.#name);
    let given = 0;
    try {
      for await (const some of this.#scan(file)) {
        given += some.length;
        yield some;
      }
    } catch (error) {
      if (!(error instanceof NotPlainError)) throw error;
      // What was given is not given again, and keeps its position.
      let isSound = true;
      for await (const one of readCarefully(file)) {
        isSound &&= !("unreadable" in one);
        if ((given -= 1) < 0) yield [one];
      }
      if (isSound) throw new SourceError(`${this.#name} is no valid JSON`);
    } finally {
      await file.close();
    }
  }

  async *#scan(file: SourceHandle): AsyncGenerator<readonly Given[]> {
    const scanner = new EntryScanner();
    const hash = createHash("sha256");
    let bytes: Buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let room = CHUNK_BYTES;
    /** Where the bytes stand in the file, how many there are, and how far they were looked at. */
    let [offset, end, at] = [0, 0, 0];
    let position = 0;
    for (;;) {
      const chunk = await file.read(bytes.subarray(end, end + room), offset + end);
      if (chunk.length === 0) break;
      hash.update(chunk);
      if (offset + end === 0 && chunk.indexOf(BYTE_ORDER_MARK) === 0) at = BYTE_ORDER_MARK.length;
      end += chunk.length;

      const found: Found[] = [];
      at = scanner.scan(bytes.subarray(0, end), at, (...one) => found.push(one));
      yield this.#parse(bytes, offset, found, position);
      position += found.length;

      const needed = scanner.pending ?? at;
      bytes.copyWithin(0, needed, end);
      scanner.shift(needed);
      [offset, end, at] = [offset + needed, end - needed, at - needed];
      room = found.length < FEW_ENTRIES ? LONG_CHUNK_BYTES : CHUNK_BYTES;
      if (end + room > bytes.length) bytes = Buffer.concat([bytes], Math.max(end + room, end * 2));
    }
    if (!scanner.isComplete) throw new NotPlainError();
    this.#sha256 = hash.digest("hex");
  }

  #parse(bytes: Buffer, offset: number, found: readonly Found[], before: number): Given[] {
    const [first, last] = [found[0], found.at(-1)];
    if (first === undefined || last === undefined) return [];
    const piece = bytes.subarray(first[0], last[1]);
    if (!isUtf8(piece)) throw new NotPlainError();
    const encoding = isAscii(piece) ? "latin1" : "utf8"; // The same text, quicker.
    return found.map(([start, end, line, members], i) => {
      const text = bytes.toString(encoding, start, end);
      const value = parsed(text);
      const place = { source: this.#name, position: before + i + 1, line };
      const inexact = isDeeper(value["metadata"], MOST_LEVELS)
        ? undefined
        : inexactNumber(text, value, "metadata");
      if (inexact !== undefined)
        return { place, key: value["key"], unreadable: notExact(["metadata", ...inexact]) };
      return {
        place,
        key: value["key"],
        members: value,
        spelling: FILE_SPELLING,
        text: { offset: offset + start, bytes: end - start, members },
      };
    });
  }
}

type Found = Parameters<Parameters<EntryScanner["scan"]>[2]>;

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isBag(value)) return value;
  } catch {
    // What is wrong with it, the slower reader says.
  }
  throw new NotPlainError();
}
