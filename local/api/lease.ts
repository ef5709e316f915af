import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";

/** Thrown if the local API can't start for a reason that the user can fix. The message says how. */
export class LocalApiStartError extends Error {
  override readonly name = "LocalApiStartError";
}

const FILE_NAME = "in-use.json";

const holder = z.object({
  pid: z.number(),
  /** The process's URL. Absent during startup, and for a process that doesn't serve others. */
  url: z.string().optional(),
  token: z.string().optional(),
});

/** The process that uses a state directory. */
type Holder = z.infer<typeof holder>;

/**
 * Ensures that only one process at a time uses a state directory, because processes wouldn't see each other's writes. A
 * file in the directory identifies the process.
 */
export class Lease {
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
  }

  /**
   * @param again whether this process may open a directory that it already has open. Tests do that to simulate a
   * restart.
   * @throws LocalApiStartError if the directory can't be written, FolderInUseError if another running process serves it.
   */
  static take(folder: string, { again }: { readonly again: boolean }): Lease {
    const file = join(folder, FILE_NAME);
    const note = JSON.stringify({ pid: process.pid });
    try {
      makeFolder(resolve(folder));
      writeFileSync(file, note, { flag: "wx" });
    } catch (error) {
      if (!isCode(error, "EEXIST")) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new LocalApiStartError(`Can't keep state in ${folder}: ${reason}. Choose another directory.`, {
          cause: error,
        });
      }
      const other = read(file);
      const allowed = other?.pid === process.pid && again;
      if (other !== undefined && !allowed && isAlive(other.pid)) throw new FolderInUseError(folder, other);
      writeFileSync(file, note);
    }
    return new Lease(file);
  }

  /** Publishes the URL at which other processes can access the directory's state. */
  announce(url: string, token: string | undefined): void {
    const note: Holder = { pid: process.pid, url, ...(token === undefined ? {} : { token }) };
    writeFileSync(`${this.#file}.new`, JSON.stringify(note), { mode: 0o600 });
    renameSync(`${this.#file}.new`, this.#file);
  }

  giveBack(): void {
    if (read(this.#file)?.pid === process.pid) rmSync(this.#file, { force: true });
  }
}

/** Thrown if another process uses the directory. */
export class FolderInUseError extends LocalApiStartError {
  constructor(
    readonly folder: string,
    readonly holder: Holder,
  ) {
    const where = holder.url === undefined ? "" : ` at ${holder.url}`;
    super(
      `Process ${holder.pid}${where} already uses ${folder}. End that process first. If it isn't a local API, delete ${join(folder, FILE_NAME)}.`,
    );
  }
}

/** Node.js's own `recursive` never returns in a parent that takes no directories, such as /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error; // Another process was faster.
  }
}

function read(file: string): Holder | undefined {
  try {
    return holder.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return undefined; // The file was just removed, or a crash cut it short.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isCode(error, "EPERM"); // The process is alive and belongs to another user.
  }
}

function isCode(error: unknown, code: string): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === code;
}
