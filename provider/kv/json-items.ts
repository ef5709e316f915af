import { isAscii, isUtf8 } from "node:buffer";
import type { Hash } from "node:crypto";
import { SourceError, type SourceHandle } from "./source-handle";

/** Reads a JSON array, such as the entries of a bulk file or a list of keys, from a file in chunks. */

/** The text of one item of the array, which is valid JSON. */
export interface Item extends Place {
  readonly text: string;
  /** The item's position in the array, counted from 1. */
  readonly position: number;
  readonly bytes: number;
  /** The number of properties, including nested ones. */
  readonly members: number;
}

/** A position in a file: its offset, its line (counted from 1), and that line's offset. */
interface Place {
  readonly offset: number;
  readonly line: number;
  readonly lineOffset: number;
}

/** Thrown if a file isn't a JSON array or is incomplete. The message never quotes its content, which may be secret. */
export class NotAnArrayError extends SourceError {
  override readonly name = "NotAnArrayError";
  /** The message with the column, worded for any JSON array rather than an array of entries. */
  readonly withColumn: string;

  constructor(message: string, withColumn: string) {
    super(message);
    this.withColumn = withColumn;
  }
}

/** How many bytes are read at a time. Long items are read in larger chunks, because each read is a system call. */
const CHUNK_BYTES = 64 * 1024;
const LONG_CHUNK_BYTES = 1024 * 1024;
/** Items count as long if a chunk contains fewer of them than this. */
const FEW_ITEMS = 32;

/**
 * The longest number or literal that's kept in memory until it's complete. Of a longer one, only the part read so far is
 * checked.
 */
const MOST_PLAIN_BYTES = 4096;

/**
 * Yields the items of the array in chunks, without reading the whole file into memory.
 *
 * @param hash is updated with all bytes of the file.
 * @throws NotAnArrayError after yielding the items that precede the mistake.
 */
export async function* readItems(file: SourceHandle, hash?: Hash): AsyncGenerator<readonly Item[]> {
  const scanner = new ItemScanner();
  let bytes: Buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let room = CHUNK_BYTES;
  /** Where the current bytes start in the file, how many there are, and how far they've been scanned. */
  let [offset, end, at] = [0, 0, 0];
  for (let isLast = false; !isLast;) {
    const chunk = await file.read(bytes.subarray(end, end + room), offset + end);
    isLast = chunk.length < room;
    hash?.update(chunk);
    end += chunk.length;

    const items: Item[] = [];
    let mistake: Mistake | undefined;
    try {
      at = scanner.scan(bytes.subarray(0, end), at, isLast, (item) => items.push(item));
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      mistake = error;
    }
    yield items;
    if (mistake !== undefined) throw await errorFor(mistake, file);

    const needed = scanner.pending ?? at;
    bytes.copyWithin(0, needed, end);
    scanner.shift(needed);
    [offset, end, at] = [offset + needed, end - needed, at - needed];
    room = items.length < FEW_ITEMS ? LONG_CHUNK_BYTES : CHUNK_BYTES;
    if (end + room > bytes.length)
      bytes = Buffer.concat([bytes.subarray(0, end)], Math.max(end + room, end * 2));
  }
}

/** Computes the column of a position, in characters, counted from 1. */
export async function columnOf(file: SourceHandle, { lineOffset, offset }: Place): Promise<number> {
  let column = 1;
  for await (const piece of file.pieces(lineOffset, offset))
    for (const byte of piece) if ((byte & 0xc0) !== 0x80) column += 1;
  return column;
}

type Kind = "empty" | "object" | "other" | "malformed" | "encoding" | "after" | "cut";

/** Thrown for a syntax error in the array, with its position and the item that contains it. */
export class Mistake extends Error {
  readonly kind: Kind;
  readonly place: Place;
  readonly item: { readonly position: number; readonly line: number } | undefined;

  constructor(kind: Kind, place: Place, item: Mistake["item"]) {
    super(kind);
    this.kind = kind;
    this.place = place;
    this.item = item;
  }
}

const EXPECTED_ARRAY = 'expected an array of entries: [{ "key": …, "value": … }, …]';
const INVALID_JSON = "this is not valid JSON; look for an extra comma, or a missing comma, quote or bracket";

async function errorFor({ kind, place, item }: Mistake, file: SourceHandle): Promise<NotAnArrayError> {
  const line = `${file.name}, line ${place.line}`;
  const begins = item === undefined ? "" : `which begins on line ${item.line}`;
  const within = item === undefined ? "the array" : `entry ${item.position}, ${begins}`;
  const inItem =
    item === undefined ? "" : ` (entry ${item.position}${item.line === place.line ? "" : `, ${begins}`})`;
  const withColumn = async (what: string): Promise<string> =>
    `${line}, column ${await columnOf(file, place)}: ${what}`;
  const errorWith = async (message: string, brief: string): Promise<NotAnArrayError> =>
    new NotAnArrayError(message, await withColumn(brief));
  switch (kind) {
    case "empty":
      return new NotAnArrayError(
        `${file.name} is empty; ${EXPECTED_ARRAY}`,
        `${file.name} is empty; expected a JSON array`,
      );
    case "object":
    case "other": {
      const found = kind === "object" ? "is an object" : "is not an array";
      return await errorWith(`${line}: the file ${found}; ${EXPECTED_ARRAY}`, "the file is not a JSON array");
    }
    case "malformed":
      return await errorWith(
        `${line}${inItem}: ${INVALID_JSON}, or for a line break in a string`,
        INVALID_JSON,
      );
    case "after":
      return await errorWith(`${line}: there is text after the end of the array`, INVALID_JSON);
    case "encoding": {
      const sentence = `${line}${inItem}: the text is not UTF-8`;
      return new NotAnArrayError(sentence, sentence);
    }
    case "cut": {
      const ends = (where: string): string => `the file ends inside ${where}; it may be truncated`;
      return await errorWith(`${line}: ${ends(within)}`, ends("the array"));
    }
  }
}

/** What the scanner accepts next. */
type Expects = "array" | "valueOrEnd" | "value" | "nameOrEnd" | "name" | "colon" | "comma" | "nothing";

/** A value without quotes or brackets. */
const PLAIN = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
/** Matches what follows `\u`. */
const CODE_UNIT = /^[\dA-Fa-f]{4}$/;
const BYTE_ORDER_MARK = "\u00ef\u00bb\u00bf";

const [NEWLINE, SPACE, QUOTE, COMMA, COLON, BACKSLASH, LETTER_U] = [10, 32, 34, 44, 58, 92, 117];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [91, 93, 123, 125];
const IS_BLANK = byteSet(" \t\r\n");
const IS_PUNCTUATION = byteSet(",:[]{}");
const IS_DELIMITER = byteSet(' \t\r\n,:[]{}"');
const BEGINS_PLAIN = byteSet("-0123456789tfn");
const IS_ESCAPED = byteSet('"\\/bfnrt');

/** Builds a lookup table with a 1 for each of the characters. */
function byteSet(characters: string): Uint8Array {
  const set = new Uint8Array(256);
  for (const byte of Buffer.from(characters)) set[byte] = 1;
  return set;
}

/** Finds the items of an array in bytes that arrive in chunks, and the first byte that isn't valid JSON. */
export class ItemScanner {
  #expects: Expects = "array";
  /** Open brackets and braces. */
  readonly #open: number[] = [];
  #inString = false;
  #bytes: Buffer = Buffer.alloc(0);
  /** Where the current bytes start in the file. */
  #offset = 0;
  #line = 1;
  #lineOffset = 0;
  #count = 0;
  /** The item that isn't complete yet. */
  #item: Place | undefined;
  #members = 0;

  /** Returns where the incomplete item starts in the bytes of the last scan. */
  get pending(): number | undefined {
    return this.#item && this.#item.offset - this.#offset;
  }

  /** Adjusts the offsets after the caller dropped this many bytes from the start of its buffer. */
  shift(bytes: number): void {
    this.#offset += bytes;
  }

  /**
   * Continues scanning at `from` and calls `found` for each complete item.
   *
   * @returns where to continue when there are more bytes.
   * @throws Mistake
   */
  scan(bytes: Buffer, from: number, isLast: boolean, found: (item: Item) => void): number {
    this.#bytes = bytes;
    let at = from;
    while (at < bytes.length) {
      const byte = bytes[at] ?? 0;
      if (this.#inString) {
        const next = this.#throughString(at, found);
        if (next === at) break;
        at = next;
      } else if (byte === NEWLINE) {
        at += 1;
        this.#line += 1;
        this.#lineOffset = this.#offset + at;
      } else if (IS_BLANK[byte] === 1) at += 1;
      else if (byte === QUOTE) {
        if (this.#expects !== "name" && this.#expects !== "nameOrEnd") this.#beginValue(at);
        this.#inString = true;
        at += 1;
      } else if (IS_PUNCTUATION[byte] === 1) {
        this.#punctuate(byte, at, found);
        at += 1;
      } else {
        const end = this.#endOfPlain(at);
        const mayGoOn = !isLast || (this.#open.length > 0 && BEGINS_PLAIN[byte] === 1);
        if (end === bytes.length && mayGoOn && end - at < MOST_PLAIN_BYTES) break;
        this.#plain(at, end, found);
        at = end;
      }
    }
    if (isLast && this.#expects !== "nothing") {
      const end = this.#offset + bytes.length;
      throw this.#mistake(this.#lineOffset === end && this.#line === 1 ? "empty" : "cut", bytes.length);
    }
    return at;
  }

  #beginValue(at: number, opens?: number): void {
    const { length } = this.#open;
    if (length === 1) {
      this.#item = this.#placeOf(at);
      this.#members = 0;
    }
    if (opens !== undefined) this.#open.push(opens);
    if (this.#expects === "value" || this.#expects === "valueOrEnd") return;
    if (length > 0) throw this.#mistake("malformed", at);
    throw this.#mistake(
      this.#expects === "nothing" ? "after" : opens === OPEN_BRACE ? "object" : "other",
      at,
    );
  }

  #endValue(at: number, found: (item: Item) => void): void {
    this.#expects = "comma";
    const item = this.#item;
    if (this.#open.length > 1 || item === undefined) return;
    const start = item.offset - this.#offset;
    const piece = this.#bytes.subarray(start, at);
    const isPlain = isAscii(piece);
    if (!isPlain && !isUtf8(piece)) throw this.#notUtf8(item, at);
    this.#count += 1;
    const { offset, line, lineOffset } = item;
    // A spread would take ten times as long as all the rest.
    found({
      offset,
      line,
      lineOffset,
      text: piece.toString(isPlain ? "latin1" : "utf8"), // For ASCII, latin1 gives the same text, but faster.
      position: this.#count,
      bytes: piece.length,
      members: this.#members,
    });
    this.#item = undefined;
  }

  #punctuate(byte: number, at: number, found: (item: Item) => void): void {
    const expects = this.#expects;
    const inside = this.#open.at(-1);
    if (byte === OPEN_BRACKET && expects === "array") {
      this.#open.push(byte);
      this.#expects = "valueOrEnd";
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      this.#beginValue(at, byte);
      this.#expects = byte === OPEN_BRACE ? "nameOrEnd" : "valueOrEnd";
    } else if (byte === COMMA && expects === "comma") {
      this.#expects = inside === OPEN_BRACE ? "name" : "value";
    } else if (byte === COLON && expects === "colon") {
      this.#members += 1;
      this.#expects = "value";
    } else if (
      (byte === CLOSE_BRACE && inside === OPEN_BRACE && (expects === "comma" || expects === "nameOrEnd")) ||
      (byte === CLOSE_BRACKET && inside === OPEN_BRACKET && (expects === "comma" || expects === "valueOrEnd"))
    ) {
      this.#open.pop();
      if (this.#open.length === 0) this.#expects = "nothing";
      else this.#endValue(at + 1, found);
    } else
      throw this.#mistake(expects === "nothing" ? "after" : expects === "array" ? "other" : "malformed", at);
  }

  #endOfPlain(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (at < bytes.length && IS_DELIMITER[bytes[at] ?? 0] !== 1) at += 1;
    return at;
  }

  #plain(at: number, end: number, found: (item: Item) => void): void {
    const text = this.#bytes.toString("latin1", at, end);
    if (text === BYTE_ORDER_MARK && this.#offset + at === 0) this.#lineOffset = end;
    else if (!PLAIN.test(text))
      throw this.#mistake(this.#expects === "nothing" ? "after" : "malformed", at, end);
    else {
      this.#beginValue(at);
      this.#endValue(end, found);
    }
  }

  /** Skips past the closing quote, or to the end of the bytes without splitting an escape sequence. */
  #throughString(from: number, found: (item: Item) => void): number {
    const bytes = this.#bytes;
    const end = bytes.length;
    let at = from;
    while (at < end) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) {
        this.#inString = false;
        if (this.#expects === "name" || this.#expects === "nameOrEnd") this.#expects = "colon";
        else this.#endValue(at + 1, found);
        return at + 1;
      }
      if (byte < SPACE) throw this.#mistake("malformed", at);
      if (byte !== BACKSLASH) at += 1;
      else {
        const next = at + (bytes[at + 1] === LETTER_U ? 6 : 2);
        if (next > end) return at;
        const isSound =
          next === at + 6
            ? CODE_UNIT.test(bytes.toString("latin1", at + 2, next))
            : IS_ESCAPED[bytes[at + 1] ?? 0] === 1;
        if (!isSound) throw this.#mistake("malformed", at, next);
        at = next;
      }
    }
    return at;
  }

  #placeOf(at: number): Place {
    return { offset: this.#offset + at, line: this.#line, lineOffset: this.#lineOffset };
  }

  /** @param end where the mistake ends. If any earlier bytes aren't UTF-8, they're reported instead. */
  #mistake(kind: Kind, at: number, end = at + 1): Mistake {
    const from = this.#item ?? this.#placeOf(at);
    if (kind !== "cut" && !isUtf8(this.#bytes.subarray(from.offset - this.#offset, end)))
      return this.#notUtf8(from, end);
    return new Mistake(kind, this.#placeOf(at), this.#open.length > 1 ? this.#within : undefined);
  }

  /** Reports the first line that isn't valid UTF-8. */
  #notUtf8(from: Place, end: number): Mistake {
    let start = from.offset - this.#offset;
    let { line, lineOffset } = from;
    const endOfLine = (): number => this.#bytes.subarray(0, end).indexOf(NEWLINE, start);
    for (
      let next = endOfLine();
      next !== -1 && isUtf8(this.#bytes.subarray(start, next));
      next = endOfLine()
    ) {
      start = next + 1;
      line += 1;
      lineOffset = this.#offset + start;
    }
    const place = { offset: this.#offset + start, line, lineOffset };
    return new Mistake("encoding", place, line === from.line ? undefined : this.#within);
  }

  get #within(): Mistake["item"] {
    return this.#item && { position: this.#count + 1, line: this.#item.line };
  }
}
