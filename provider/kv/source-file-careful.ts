import { isUtf8 } from "node:buffer";
import { JSONParser, TokenType } from "@streamparser/json";
import { isBag, own } from "../runtime/values";
import { FILE_SPELLING, type Given, type Place } from "./check-entry";
import { SourceError } from "./source-error";
import type { SourceHandle } from "./source-handle";

/** Bytes read at a time. */
const CHUNK_BYTES = 256 * 1024;
/** Bytes in which the parser collects a string: without it every short piece of a long value is a string of its own. */
const STRING_BUFFER_BYTES = 64 * 1024;

/**
 * Entries of a bulk file with a mistake in it, for the sake of the sentence that names its line.
 *
 * @throws SourceError. No message of the parser is passed on: it quotes what it read, which may be a secret value.
 */
export async function* readCarefully(file: SourceHandle): AsyncGenerator<Given> {
  const reader = new BulkReader(file.name);
  for (let offset = 0; ;) {
    // A buffer each: the parser and the line counter keep looking at the last one.
    const chunk = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), offset);
    if (chunk.length === 0) break;
    offset += chunk.length;
    yield* reader.write(chunk);
  }
  yield* reader.end();
}

const BYTE_ORDER_MARK = Buffer.from("\ufeff");

class BulkReader {
  readonly #name: string;
  readonly #parser = new JSONParser({
    paths: ["$.*"],
    keepStack: false,
    stringBufferSize: STRING_BUFFER_BYTES,
  });
  readonly #lines = new LineCounter();
  #ready: Given[] = [];
  #depth = 0;
  #position = 0;
  #entryLine = 0;
  #lastOffset = 0;
  #started = false;
  #offset = 0;
  /** The first bytes of a character that goes on in the next chunk. */
  #tail: Buffer = Buffer.alloc(0);

  constructor(name: string) {
    this.#name = name;
    this.#parser.onToken = ({ token, offset }) => this.#see(token, offset);
    this.#parser.onValue = ({ value }) => {
      this.#position += 1;
      this.#ready.push(this.#given(value));
    };
  }

  *write(chunk: Buffer): Generator<Given> {
    let text = this.#tail.length === 0 ? chunk : Buffer.concat([this.#tail, chunk]);
    const whole = text.length - unfinishedBytes(text);
    this.#tail = text.subarray(whole);
    text = text.subarray(
      !this.#started && text.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0,
      whole,
    );
    this.#started ||= text.length > 0;
    this.#lines.feed(text);
    // The parser would read on over a wrong byte, and take the quote behind it for a part of the string.
    const sound = soundBytes(text);
    yield* this.#parse(text.subarray(0, sound));
    if (sound < text.length) throw this.#notUtf8(this.#offset + sound);
    this.#offset += text.length;
  }

  *end(): Generator<Given> {
    if (!this.#started) throw new SourceError(`${this.#name} is empty; ${WANTED}`);
    if (this.#parser.isEnded && this.#tail.length === 0) return;
    if (this.#parser.isEnded) throw this.#notUtf8(Number.MAX_SAFE_INTEGER);
    const where =
      this.#depth > 1 ? `entry ${this.#position + 1}, which begins on line ${this.#entryLine}` : "the array";
    throw new SourceError(
      `${this.#name}, line ${this.#lines.at(Number.MAX_SAFE_INTEGER)}: the file ends within ${where}; it may have been cut off`,
    );
  }

  /** What was complete before an error is given first, so that positions and counts stay true. */
  *#parse(text: Buffer): Generator<Given> {
    let failure: SourceError | undefined;
    try {
      this.#parser.write(text);
    } catch (error) {
      failure = this.#malformed(error);
    }
    const ready = this.#ready;
    this.#ready = [];
    yield* ready;
    if (failure !== undefined) throw failure;
  }

  #see(token: TokenType, offset: number): void {
    this.#lastOffset = offset;
    if (this.#depth === 0 && token !== TokenType.LEFT_BRACKET) {
      throw new SourceError(
        `${this.#name}, line ${this.#lines.at(offset)}: the file holds ${token === TokenType.LEFT_BRACE ? "an object" : "something else"}; ${WANTED}`,
      );
    }
    if (this.#depth === 1 && token !== TokenType.COMMA && token !== TokenType.RIGHT_BRACKET) {
      this.#entryLine = this.#lines.at(offset);
    }
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) this.#depth += 1;
    if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) this.#depth -= 1;
  }

  #given(value: unknown): Given {
    const place: Place = { source: this.#name, position: this.#position, line: this.#entryLine };
    return isBag(value)
      ? { place, key: own(value, "key"), members: value, spelling: FILE_SPELLING }
      : { place, key: undefined, unreadable: "is no object; write { key, value, … }" };
  }

  #malformed(error: unknown): SourceError {
    if (error instanceof SourceError) return error;
    const text = isBag(error) ? String(error["message"]) : "";
    // The tokenizer tells the place of a wrong byte in its message alone; a wrong token is the last one seen.
    const offset = Number(/absolute position "(\d+)"/.exec(text)?.[1] ?? this.#lastOffset);
    return this.#parser.isEnded
      ? this.#at(offset, "there is something after the end of the array")
      : this.#at(
          offset,
          "this is no valid JSON; look for a missing comma, quote or bracket, a comma too many, or a line break within a string",
        );
  }

  #notUtf8(offset: number): SourceError {
    return this.#at(offset, "the text is not UTF-8");
  }

  #at(offset: number, what: string): SourceError {
    const line = this.#lines.at(offset);
    const from = this.#entryLine === line ? "" : `, which begins on line ${this.#entryLine}`;
    const entry = this.#depth > 1 ? ` (entry ${this.#position + 1}${from})` : "";
    return new SourceError(`${this.#name}, line ${line}${entry}: ${what}`);
  }
}

/** Bytes at the end that begin a character and do not complete it: 0 to 3. */
function unfinishedBytes(text: Buffer): number {
  for (let back = 1; back <= Math.min(3, text.length); back += 1) {
    const byte = text[text.length - back] ?? 0;
    if (byte >= 0x80 && byte < 0xc0) continue; // Goes on with a character: its first byte stands before.
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

/** How much is UTF-8: all of it, or the lines before the first that is not. */
function soundBytes(text: Buffer): number {
  if (isUtf8(text)) return text.length;
  let start = 0;
  for (
    let end = text.indexOf(10);
    end !== -1 && isUtf8(text.subarray(start, end));
    end = text.indexOf(10, start)
  )
    start = end + 1;
  return start;
}

const WANTED = 'write an array of entries: [{ "key": …, "value": … }, …]';

/** Lines at offsets of a stream, asked in ascending order. */
class LineCounter {
  #line = 1;
  #base = 0;
  #chunk: Buffer = Buffer.alloc(0);
  #next = -1;

  feed(chunk: Buffer): void {
    this.at(Number.MAX_SAFE_INTEGER);
    this.#base += this.#chunk.length;
    this.#chunk = chunk;
    this.#next = chunk.indexOf(10);
  }

  /** An offset in an earlier chunk is that of a string which goes on in this one: it has no line break inside. */
  at(offset: number): number {
    while (this.#next !== -1 && this.#base + this.#next < offset) {
      this.#line += 1;
      this.#next = this.#chunk.indexOf(10, this.#next + 1);
    }
    return this.#line;
  }
}
