import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

/** The local API could not start, for a reason that its user can remove. The message is complete. */
export class LocalApiStartError extends Error {
  override readonly name = "LocalApiStartError";
}

const FILE_NAME = "in-use.json";

const holder = z.object({
  pid: z.number(),
  /** Absent while it starts, and for one that serves nobody else. */
  url: z.string().optional(),
  token: z.string().optional(),
});

/** Who serves a folder: two of them would not see each other's writes. */
type Holder = z.infer<typeof holder>;

/** A folder of state is served by one process at a time; a note in it says by which. */
export class Lease {
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
  }

  /**
   * @param again whether this process may open a folder once more, as a test does for a restart.
   * @throws FolderInUseError when a process that lives holds the folder.
   */
  static take(folder: string, { again }: { readonly again: boolean }): Lease {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, FILE_NAME);
    const note = JSON.stringify({ pid: process.pid });
    try {
      writeFileSync(file, note, { flag: "wx" });
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
      const other = read(file);
      const allowed = other?.pid === process.pid && again;
      if (other !== undefined && !allowed && isAlive(other.pid)) throw new FolderInUseError(folder, other);
      writeFileSync(file, note);
    }
    return new Lease(file);
  }

  /** Lets others know where the folder's state can be had. */
  announce(url: string, token: string | undefined): void {
    const note: Holder = { pid: process.pid, url, ...(token === undefined ? {} : { token }) };
    writeFileSync(`${this.#file}.new`, JSON.stringify(note), { mode: 0o600 });
    renameSync(`${this.#file}.new`, this.#file);
  }

  giveBack(): void {
    if (read(this.#file)?.pid === process.pid) rmSync(this.#file, { force: true });
  }
}

/** Another process serves the folder. */
export class FolderInUseError extends LocalApiStartError {
  constructor(
    readonly folder: string,
    readonly holder: Holder,
  ) {
    const where = holder.url === undefined ? "" : ` at ${holder.url}`;
    super(
      `${folder} is served by process ${holder.pid}${where}: use that one, or end it first. If that process is none of ours, delete ${join(folder, FILE_NAME)}.`,
    );
  }
}

function read(file: string): Holder | undefined {
  try {
    return holder.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return undefined; // It has just gone, or was cut short by a crash.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isCode(error, "EPERM"); // It lives, and is somebody else's.
  }
}

function isCode(error: unknown, code: string): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === code;
}
