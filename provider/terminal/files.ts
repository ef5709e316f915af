import { existsSync, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { readErrorReason, codeOf } from "../basics/files";
import { CommandError } from "./errors";
import type { Io } from "./io";

/**
 * Reads a text file named by an argument.
 *
 * @param what what messages call the file, such as `the plan in plan.json`.
 * @throws CommandError if it can't be read.
 */
export async function readText({ cwd }: Io, file: string, what: string): Promise<string> {
  const path = resolve(cwd, file);
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw unreadable(what, path, error);
  }
}

/** Creates the error for a file that can't be read. */
export function unreadable(what: string, path: string, error: unknown): CommandError {
  return new CommandError(`${what} can't be read: ${readErrorReason(error)} (full path: ${path}).`);
}

/**
 * Creates a directory and those above it. Node's own recursive mkdir never returns for a path such as /proc/x.
 *
 * @throws CommandError if it can't be created.
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    if (!existsSync(path))
      // Otherwise, another process was faster.
      throw new CommandError(
        `${path} can't be created (${codeOf(error) ?? String(error)}). Pass a directory that you can write to.`,
      );
  }
}

/** Yields a directory and its parents, nearest first. */
export function* foldersFrom(folder: string): Generator<string> {
  for (let at = folder; ; at = dirname(at)) {
    yield at;
    if (dirname(at) === at) return;
  }
}

/** Returns the line and column of an offset, both counted from 1. Columns count characters. */
export function placeIn(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  const start = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: Array.from(before.slice(start)).length + 1 };
}
