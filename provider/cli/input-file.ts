import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { CommandError, InterruptedError } from "../terminal/errors";
import type { Io } from "../terminal/io";
import { whyUnreadable } from "../runtime/files";

/** A file that a command reads, more than once. */
export interface InputFile {
  readonly path: string;
  /** What messages call it. */
  readonly name: string;
}

/**
 * Does `work` with the file that an argument names: `-` is standard input. What comes through a pipe can be read only
 * once, so it is copied into a temporary file first, which nobody else may read and which goes afterwards.
 *
 * @throws CommandError where it cannot be read.
 */
export async function withInputFile<T>(
  io: Io,
  argument: string,
  work: (file: InputFile) => Promise<T>,
): Promise<T> {
  const isStdin = argument === "-";
  const path = resolve(io.cwd, argument);
  if (!isStdin && !(await isPipe(path))) return await work({ path, name: argument });

  const name = isStdin ? "standard input" : argument;
  const stop = io.interrupted(); // Until the copy is gone again, Ctrl-C must not just end the process.
  const folder = await mkdtemp(join(tmpdir(), "edgeguard-"));
  try {
    const copy = join(folder, "input");
    try {
      await pipeline(isStdin ? io.stdin : createReadStream(path), createWriteStream(copy), { signal: stop });
    } catch (error) {
      if (stop.aborted) throw new InterruptedError("interrupted. Nothing was sent.");
      throw new CommandError(`${name} cannot be read: ${whyUnreadable(error)}.`);
    }
    return await work({ path: copy, name });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What is missing is told by whoever opens it. */
async function isPipe(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFIFO() === true;
}
