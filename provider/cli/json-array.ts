import { createReadStream } from "node:fs";
import { JSONParser, TokenType } from "@streamparser/json";
import { isBag } from "../runtime/values";
import { CommandError } from "../terminal/errors";
import { placeIn } from "../terminal/files";
import { whyUnreadable } from "../runtime/files";

/** An item of an array in a file, and where it begins. */
export interface Item {
  readonly value: unknown;
  /** Counted from 1. */
  readonly position: number;
  /** Bytes from the start of the file. */
  readonly offset: number;
}

/**
 * The items of a JSON array, read piece by piece.
 *
 * @param name what messages call the file.
 * @throws CommandError naming line and column where the file is not such an array. No message of the parser is passed
 *   on: it quotes what it read, which may be secret.
 */
export async function* readArray(path: string, name: string): AsyncGenerator<Item> {
  const parser = new JSONParser({ paths: ["$.*"], keepStack: false, stringBufferSize: 64 * 1024 });
  let ready: Item[] = [];
  let skipped = 0;
  let depth = 0;
  let begins = 0;
  let last = 0;
  let position = 0;
  let kind: "array" | "other" | undefined;
  parser.onToken = ({ token, offset }) => {
    last = offset;
    if (depth === 0) kind ??= token === TokenType.LEFT_BRACKET ? "array" : "other";
    if (depth === 1 && token !== TokenType.COMMA && token !== TokenType.RIGHT_BRACKET) begins = offset;
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) depth += 1;
    if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) depth -= 1;
  };
  parser.onValue = ({ value }) => {
    position += 1;
    ready.push({ value, position, offset: skipped + begins });
  };
  const isOther = (): boolean => kind === "other";

  let bytes = 0;
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      if (bytes === 0 && chunk.indexOf(BYTE_ORDER_MARK) === 0) skipped = BYTE_ORDER_MARK.length;
      const offset = failureOf(parser, bytes === 0 ? chunk.subarray(skipped) : chunk, () => last);
      bytes += chunk.length;
      if (isOther()) throw await malformed(path, name, 0, "the file holds no array");
      yield* ready;
      ready = [];
      if (offset !== undefined) throw await malformed(path, name, skipped + offset, MALFORMED);
    }
  } catch (error) {
    if (error instanceof CommandError || !isBag(error) || error["syscall"] === undefined) throw error;
    throw new CommandError(`${name} cannot be read: ${whyUnreadable(error)} (looked for ${path}).`);
  }
  if (bytes === 0) throw new CommandError(`${name} is empty; an array was expected.`);
  if (!parser.isEnded)
    throw await malformed(path, name, bytes, "the file ends within the array; it may have been cut off");
}

const BYTE_ORDER_MARK = Buffer.from("\ufeff");

const MALFORMED = "this is no valid JSON; look for a missing comma, quote or bracket, or a comma too many";

/** The offset of what the parser does not take. It tells that of a wrong byte in its message alone. */
function failureOf(parser: JSONParser, chunk: Buffer, last: () => number): number | undefined {
  try {
    parser.write(chunk);
    return undefined;
  } catch (error) {
    const text = isBag(error) ? String(error["message"]) : "";
    return Number(/absolute position "(\d+)"/.exec(text)?.[1] ?? last());
  }
}

async function malformed(path: string, name: string, offset: number, what: string): Promise<CommandError> {
  return new CommandError(`${await placeInFile(path, name, offset)}: ${what}.`);
}

/** `keys.json, line 3, column 17`, for an offset in bytes. */
export async function placeInFile(path: string, name: string, offset: number): Promise<string> {
  let line = 1;
  let tail = Buffer.alloc(0);
  if (offset > 0) {
    for await (const chunk of createReadStream(path, { end: offset - 1 }) as AsyncIterable<Buffer>) {
      const text = Buffer.concat([tail, chunk]);
      const start = text.lastIndexOf(10) + 1;
      line += placeIn(text.subarray(0, start).toString("latin1"), start).line - 1;
      tail = text.subarray(start);
    }
  }
  const text = tail.toString("utf8").replace(/^\ufeff/, "");
  return `${name}, line ${line}, column ${placeIn(text, text.length).column}`;
}
