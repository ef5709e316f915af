import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import ignore from "ignore";
import { KV } from "../limits/index";
import type { Body } from "./batches";
import type { Row, Source } from "./catalog";
import {
  checkEntry,
  PROGRAM_SPELLING,
  recordOf,
  tooLarge,
  declaredValueOf,
  type EntryDefaults,
  type RawEntry,
} from "./entry";
import { openFile, SourceError } from "./source-handle";
import { readErrorReason } from "../basics/files";

export interface DirectoryOptions {
  /** The directory's absolute path. */
  readonly root: string;
  /** The directory's name in messages. */
  readonly name: string;
  readonly prefix: string;
  readonly ignore: readonly string[];
}

/**
 * A directory as a source. A file's key is the prefix and the file's relative path, with "/" as the separator on every
 * system. Keys are sorted by code units. The value is the file's text if it's UTF-8, otherwise its bytes as base64.
 *
 * Hidden files are treated like any others. Symbolic links and special files (pipes, sockets, devices) are errors
 * unless a pattern ignores them: a link may lead out of the project or form a loop, and skipping it silently would be
 * worse.
 */
export class DirectorySource implements Source {
  readonly kind = "directory";
  readonly name: string;
  readonly defaults: EntryDefaults;
  readonly #options: DirectoryOptions;

  constructor(options: DirectoryOptions, defaults: EntryDefaults = {}) {
    this.name = options.name;
    this.defaults = defaults;
    this.#options = options;
  }

  async *read(): AsyncGenerator<readonly RawEntry[]> {
    const { root, name } = this.#options;
    const found = await stat(root).catch((error: unknown) => {
      throw new SourceError(`${name} can't be read: ${readErrorReason(error)} (full path: ${root})`);
    });
    if (!found.isDirectory())
      throw new SourceError(
        `${name} is ${found.isFile() ? "a file" : "not a directory"}; \`directory\` takes a directory with one file per key`,
      );
    for await (const path of walk(this.#options))
      yield [rawEntryOf(this.#options, path, await contentOf(join(root, path)))];
  }

  async fill(body: Body, rows: readonly Row[]): Promise<void> {
    const { root, prefix } = this.#options;
    for (const { key, value } of rows) {
      const path = key.slice(prefix.length);
      const given = rawEntryOf(this.#options, path, await readContent(join(root, path)));
      const checked = checkEntry(given, this.defaults);
      if ("problems" in checked || recordOf(checked.entry, checked.stored).value !== value)
        throw new SourceError(
          `${this.name} has changed since it was checked. The remaining entries were not sent.`,
        );
      body.add(checked.entry);
    }
  }
}

function rawEntryOf({ name, prefix }: DirectoryOptions, path: string, content: Content): RawEntry {
  const place = { source: name, path };
  const key = prefix + path;
  return "unreadable" in content
    ? { place, key, ...content }
    : { place, key, members: content, spelling: PROGRAM_SPELLING };
}

type Content = { readonly value: string; readonly base64: boolean } | { readonly unreadable: string };

/** Yields the paths of the files, relative to the directory. */
async function* walk({ root, name, ignore: patterns }: DirectoryOptions): AsyncGenerator<string> {
  const ignored = ignore({ ignorecase: false }).add([...patterns]);
  // Walks depth-first with a stack, so that only one directory's names per level are in memory.
  const levels = [await list(root, name, "")];
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const path = level.pop();
    if (path === undefined) levels.pop();
    else if (ignored.ignores(path)) continue;
    else if (path.endsWith("/")) levels.push(await list(root, name, path));
    else yield path;
  }
}

/** Returns the paths in a directory, in reverse order. Paths of subdirectories end in a slash. */
async function list(root: string, name: string, path: string): Promise<string[]> {
  const found = await readdir(join(root, path), { withFileTypes: true }).catch((error: unknown) => {
    throw new SourceError(`${join(name, path)} can't be read: ${readErrorReason(error)}`);
  });
  const paths = found.map((one) => path + one.name + (one.isDirectory() ? "/" : ""));
  return paths.sort().reverse(); // Sorting without a comparator compares code units, which is the same on every system.
}

async function contentOf(path: string): Promise<Content> {
  try {
    const found = await lstat(path);
    if (found.isSymbolicLink())
      return { unreadable: "is a symbolic link; replace it with a copy, or add it to `ignore`" };
    if (!found.isFile()) return { unreadable: "is not a regular file; add it to `ignore`" };
    return found.size > KV.MAX_VALUE_BYTES ? { unreadable: tooLarge(found.size) } : await readContent(path);
  } catch (error) {
    return { unreadable: `can't be read: ${readErrorReason(error)}` };
  }
}

async function readContent(path: string): Promise<Content> {
  try {
    const file = await openFile(path);
    try {
      return declaredValueOf(await file.readFile());
    } finally {
      await file.close();
    }
  } catch (error) {
    return { unreadable: `can't be read: ${readErrorReason(error)}` };
  }
}
