import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { devNull, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { checkKey } from "../../kv/entry";
import { columnOf, NotAnArrayError, readItems } from "../../kv/json-items";
import { SourceError, SourceHandle } from "../../kv/source-handle";
import { readErrorReason } from "../../basics/files";
import { isJsonObject, ownMember } from "../../basics/json";
import { CommandError, InterruptedError } from "../../terminal/errors";
import type { Io } from "../../terminal/io";

/** A file that a command reads several times. */
export interface InputFile {
  readonly path: string;
  /** The file's name in messages. */
  readonly name: string;
}

/**
 * Runs `work` with the file that an argument names. `-` means standard input. A pipe can be read only once, so it's
 * first copied to a private temporary file, which is removed afterward.
 *
 * @throws CommandError if it can't be read.
 */
export async function withInputFile<T>(
  io: Io,
  argument: string,
  work: (file: InputFile) => Promise<T>,
): Promise<T> {
  const isStdin = argument === "-";
  const path = resolve(io.cwd, argument);
  if (!isStdin && !(await isStream(path))) return await work({ path, name: argument });

  const name = isStdin ? "standard input" : argument;
  const stop = io.interrupted(); // Ctrl-C must not end the process before the copy is removed.
  const folder = await mkdtemp(join(tmpdir(), "edgeguard-"));
  try {
    const copy = join(folder, "input");
    try {
      await pipeline(isStdin ? io.stdin : createReadStream(path), createWriteStream(copy), { signal: stop });
    } catch (error) {
      if (stop.aborted) throw new InterruptedError("interrupted. Nothing was sent.");
      throw new CommandError(`${name} can't be read: ${readErrorReason(error)}.`);
    }
    return await work({ path: copy, name });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Whether a path is a pipe or /dev/null. A missing file is reported when it's opened. */
async function isStream(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFIFO() === true || path === devNull;
}

/**
 * Reads the distinct keys from a JSON file: an array of strings, of objects with a `name` as in the output of `key
 * list`, or of entries with a `key` as in a file for `bulk put`.
 *
 * @throws CommandError with the line and column if the file isn't an array or an item isn't a key.
 */
export async function readKeys({ path, name }: InputFile): Promise<readonly string[]> {
  let file: SourceHandle | undefined;
  try {
    file = await SourceHandle.open(path, name);
    const keys = new Set<string>();
    for await (const items of readItems(file)) {
      for (const item of items) {
        const value: unknown = JSON.parse(item.text);
        const key = isJsonObject(value) ? (ownMember(value, "name") ?? ownMember(value, "key")) : value;
        const problem =
          typeof key === "string" ? checkKey(key) : "expected a string, or an object with a name or key";
        if (typeof key !== "string" || problem !== undefined)
          throw new CommandError(
            `${name}, line ${item.line}, column ${await columnOf(file, item)}: item ${item.position}: ${problem}.`,
          );
        keys.add(key);
      }
    }
    return [...keys];
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new CommandError(`${error instanceof NotAnArrayError ? error.withColumn : error.message}.`);
  } finally {
    await file?.close();
  }
}
