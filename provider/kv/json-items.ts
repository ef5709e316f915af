import { isUtf8 } from "node:buffer";
import type { Hash } from "node:crypto";
import { parseJson } from "../basics/json";
import { SourceError, type SourceHandle } from "./source-handle";

/** Reads a JSON array, such as the entries of a bulk file or a list of keys, from a file in chunks. */

/** An item of the array. */
export interface Item {
  readonly value: unknown;
  /** The item's position in the array, counted from 1. */
  readonly position: number;
  /** The line on which the item begins, counted from 1. */
  readonly line: number;
  /** Where the item's text is in the file. */
  readonly offset: number;
  readonly bytes: number;
}

const CHUNK_BYTES = 256 * 1024;

/**
 * Yields the items of the array in chunks, without reading the whole file into memory.
 *
 * @param hash is updated with all bytes of the file.
 * @param chunkBytes how many bytes are read at a time.
 * @throws SourceError after yielding the items that precede a mistake. The message never quotes the file, which may be secret.
 */
export async function* readItems(
  file: Pick<SourceHandle, "name" | "read">,
  hash?: Hash,
  chunkBytes = CHUNK_BYTES,
): AsyncGenerator<readonly Item[]> {
  const splitter = new Splitter();
  let bytes = Buffer.allocUnsafe(chunkBytes);
  /** Where the current bytes start in the file, and how many there are. */
  let [offset, length] = [0, 0];
  for (let isLast = false; !isLast;) {
    if (length + chunkBytes > bytes.length)
      bytes = Buffer.concat([bytes.subarray(0, length)], Math.max(length + chunkBytes, length * 2));
    const chunk = await file.read(bytes.subarray(length, length + chunkBytes), offset + length);
    isLast = chunk.length < chunkBytes;
    hash?.update(chunk);
    const end = length + chunk.length;
    const items: Item[] = [];
    const mistake = splitter.scan(bytes.subarray(0, end), length, offset, items);
    yield items;
    const problem = mistake ?? (isLast ? splitter.atEnd() : undefined);
    if (problem !== undefined) throw new SourceError(`${file.name}${problem}`);
    const needed = splitter.begun === undefined ? end : splitter.begun.at - offset;
    bytes.copyWithin(0, needed, end);
    [offset, length] = [offset + needed, end - needed];
  }
}

const EXPECTED_ARRAY = "expected a JSON array";
const INVALID_JSON =
  "is not valid JSON; look for an extra comma, a missing comma, quote or bracket, or a line break in a string";

const [TAB, NEWLINE, RETURN, SPACE, QUOTE, COMMA, BACKSLASH] = [9, 10, 13, 32, 34, 44, 92];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [91, 93, 123, 125];
const BYTE_ORDER_MARK: readonly number[] = [0xef, 0xbb, 0xbf];

/** Splits an array into its items, in bytes that arrive in chunks. What's inside an item is checked by parsing it. */
class Splitter {
  /** How many brackets and braces are open. */
  #depth = 0;
  #inString = false;
  #isDone = false;
  #line = 1;
  #count = 0;
  /** Where the item that isn't complete yet begins in the file. */
  begun: { readonly at: number; readonly line: number } | undefined;

  /**
   * Continues at `from` in the bytes, which start at `offset` in the file, and adds each complete item to `items`.
   *
   * @returns the first mistake, in words that follow the file's name.
   */
  scan(bytes: Buffer, from: number, offset: number, items: Item[]): string | undefined {
    for (let at = from; at < bytes.length; at += 1) {
      if (this.#inString) {
        const quote = bytes.indexOf(QUOTE, at);
        const end = quote === -1 ? bytes.length : quote;
        if (bytes.subarray(at, end).includes(NEWLINE)) return this.#invalid(); // A quote is missing.
        this.#inString = quote === -1 || isEscaped(bytes, quote);
        at = end;
        continue;
      }
      const byte = bytes[at] ?? SPACE;
      if (byte === NEWLINE) this.#line += 1;
      if (byte === SPACE || byte === NEWLINE || byte === TAB || byte === RETURN) continue;
      if (this.#isDone) return `, line ${this.#line}: there is text after the end of the array`;
      if (this.#depth === 0) {
        if (byte === OPEN_BRACKET) this.#depth = 1;
        else if (byte !== BYTE_ORDER_MARK[offset + at])
          return `, line ${this.#line}: the file is not an array; ${EXPECTED_ARRAY}`;
      } else if (this.#depth === 1 && (byte === COMMA || byte === CLOSE_BRACKET)) {
        this.#isDone = byte === CLOSE_BRACKET;
        const isEmpty = this.#isDone && this.#count === 0 && this.begun === undefined;
        const mistake = isEmpty ? undefined : this.#complete(bytes, at, offset, items);
        if (mistake !== undefined) return mistake;
      } else {
        this.begun ??= { at: offset + at, line: this.#line };
        if (byte === QUOTE) this.#inString = true;
        else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) this.#depth += 1;
        else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) this.#depth -= 1;
        if (this.#depth === 0) return this.#invalid();
      }
    }
    return undefined;
  }

  /** Returns what's wrong at the end of the file, in words that follow its name. */
  atEnd(): string | undefined {
    if (this.#isDone) return undefined;
    if (this.#depth === 0) return ` is empty; ${EXPECTED_ARRAY}`;
    const where =
      this.begun === undefined
        ? "the array"
        : `entry ${this.#count + 1}, which begins on line ${this.begun.line}`;
    return `: the file ends inside ${where}; it may be truncated`;
  }

  #complete(bytes: Buffer, end: number, offset: number, items: Item[]): string | undefined {
    if (this.begun === undefined) return this.#invalid(); // A comma without an item before or after it.
    const { at, line } = this.begun;
    const text = bytes.subarray(at - offset, end);
    if (!isUtf8(text)) return `, line ${line}: the text of entry ${this.#count + 1} is not UTF-8`;
    const value = parseJson(text.toString());
    if (value === undefined) return this.#invalid();
    this.#count += 1;
    items.push({ value, position: this.#count, line, offset: at, bytes: text.length });
    this.begun = undefined;
    return undefined;
  }

  #invalid(): string {
    return this.begun === undefined
      ? `, line ${this.#line}: this ${INVALID_JSON}`
      : `, line ${this.begun.line}: entry ${this.#count + 1} ${INVALID_JSON}`;
  }
}

/** Whether a quote is part of its string, because an odd number of backslashes precedes it. */
function isEscaped(bytes: Buffer, quote: number): boolean {
  let first = quote;
  while (bytes[first - 1] === BACKSLASH) first -= 1;
  return (quote - first) % 2 === 1;
}
