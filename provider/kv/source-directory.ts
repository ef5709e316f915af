import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import ignore from "ignore";
import { KV } from "../limits";
import type { Body } from "./batches";
import type { Row, Source } from "./catalog";
import {
  checkEntry,
  PROGRAM_SPELLING,
  recordOf,
  tooLarge,
  writtenOf,
  type EntryDefaults,
  type Given,
} from "./entry";
import { inOrder } from "./in-order";
import { openFile, SourceError } from "./source-handle";
import { readErrorReason } from "../runtime/files";

export interface DirectoryOptions {
  /** Absolute path. */
  readonly root: string;
  /** What messages call it. */
  readonly name: string;
  readonly prefix: string;
  readonly ignore: readonly string[];
}

/** Files looked at or read at the same time, which hides the latency of the disk. */
const FILES_AT_ONCE = 16;

/**
 * A key per file: prefix and path, parts separated by "/" on every system, in the order of their code units. The value
 * is the file's text where it is UTF-8 and base64 of its bytes where not.
 *
 * Hidden files are taken as any other. Symbolic links and special files (pipes, sockets, devices) are refused unless a
 * pattern ignores them: a link may lead out of the project or in a circle, and leaving it out silently would be worse.
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

  async *read(): AsyncGenerator<readonly Given[]> {
    const { root, name } = this.#options;
    const found = await stat(root).catch((error: unknown) => {
      throw new SourceError(`${name} cannot be read: ${readErrorReason(error)} (looked for ${root})`);
    });
    if (!found.isDirectory())
      throw new SourceError(
        `${name} is ${found.isFile() ? "a file" : "no directory"}; \`directory\` takes a key per file of a directory`,
      );
    const look = async (path: string) => ({ path, content: await glance(root, path) });
    for await (const { path, content } of inOrder(walk(this.#options), FILES_AT_ONCE, look)) {
      const read = content === "later" ? await readWhole(join(root, path)) : content;
      yield [givenFor(this.#options, path, read)];
    }
  }

  /** The keys alone; no file is read. */
  async *keys(): AsyncGenerator<readonly string[]> {
    for await (const path of walk(this.#options)) yield [this.#options.prefix + path];
  }

  async fill(body: Body, rows: readonly Row[]): Promise<void> {
    for (let i = 0; i < rows.length; i += FILES_AT_ONCE) {
      const portion = rows.slice(i, i + FILES_AT_ONCE);
      const found = await Promise.all(portion.map(({ key }) => this.#fileOf(key)));
      found.forEach((given, at) => {
        const checked = checkEntry(given, this.defaults);
        if ("problems" in checked || recordOf(checked.entry, checked.stored).value !== portion[at]?.value)
          throw new SourceError(`${this.name} has changed since it was checked: the rest was not sent.`);
        body.add(checked.entry);
      });
    }
  }

  async #fileOf(key: string): Promise<Given> {
    const path = key.slice(this.#options.prefix.length);
    return givenFor(this.#options, path, await readWhole(join(this.#options.root, path)));
  }
}

function givenFor({ name, prefix }: DirectoryOptions, path: string, content: Content): Given {
  const place = { source: name, path };
  const key = prefix + path;
  return "unreadable" in content
    ? { place, key, ...content }
    : { place, key, members: content, spelling: PROGRAM_SPELLING };
}

type Content = { readonly value: string; readonly base64: boolean } | { readonly unreadable: string };

/** Files up to this size are read before their turn as well; larger ones only when it is their turn. */
const AHEAD_BYTES = 256 * 1024;

/** Paths of the files, relative to the directory. */
async function* walk({ root, name, ignore: patterns }: DirectoryOptions): AsyncGenerator<string> {
  const ignored = ignore({ ignorecase: false }).add([...patterns]);
  // Depth first by a stack: one directory's names are held at a time for each level.
  const levels = [await list(root, name, "")];
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const path = level.pop();
    if (path === undefined) levels.pop();
    else if (ignored.ignores(path)) continue;
    else if (path.endsWith("/")) levels.push(await list(root, name, path));
    else yield path;
  }
}

/** Paths of what a directory holds, those of directories with a slash at the end, the last one first. */
async function list(root: string, name: string, path: string): Promise<string[]> {
  const found = await readdir(join(root, path), { withFileTypes: true }).catch((error: unknown) => {
    throw new SourceError(`${join(name, path)} cannot be read: ${readErrorReason(error)}`);
  });
  const paths = found.map((one) => path + one.name + (one.isDirectory() ? "/" : ""));
  return paths.sort().reverse(); // Without a comparator the order is that of code units, on every system the same.
}

async function glance(root: string, path: string): Promise<Content | "later"> {
  try {
    const found = await lstat(join(root, path));
    if (found.isSymbolicLink())
      return { unreadable: "is a symbolic link; put a copy in its place, or name it in `ignore`" };
    if (!found.isFile()) return { unreadable: "is no regular file; name it in `ignore`" };
    if (found.size > KV.MAX_VALUE_BYTES) return { unreadable: tooLarge(found.size) };

    return found.size > AHEAD_BYTES ? "later" : await readWhole(join(root, path));
  } catch (error) {
    return { unreadable: `cannot be read: ${readErrorReason(error)}` };
  }
}

async function readWhole(path: string): Promise<Content> {
  try {
    const file = await openFile(path);
    try {
      return writtenOf(await file.readFile());
    } finally {
      await file.close();
    }
  } catch (error) {
    return { unreadable: `cannot be read: ${readErrorReason(error)}` };
  }
}
