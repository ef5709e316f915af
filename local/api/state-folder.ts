import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { type Snapshot, snapshotSchema } from "./state";

/** Thrown if the local API can't start for a reason that the user can fix. The message says how. */
export class LocalApiStartError extends Error {
  override readonly name = "LocalApiStartError";
}

/** The process that uses a directory. */
const holder = z.object({ pid: z.number() });

/**
 * A directory that keeps the state between runs: one file, written when the API closes. Only one process at a time uses
 * it, because it would overwrite what another one writes.
 */
export class StateFolder {
  readonly #lock: string;
  readonly #file: string;

  private constructor(folder: string) {
    this.#lock = join(folder, "in-use.json");
    this.#file = join(folder, "local-api.json");
  }

  /** @throws LocalApiStartError if the directory can't be written, or another process uses it. */
  static open(path: string): StateFolder {
    const folder = new StateFolder(path);
    try {
      makeFolder(path);
      if (existsSync(folder.#lock)) folder.#requireFree(path);
      // "wx" fails if a process that starts at the same time was faster.
      writeFileSync(folder.#lock, JSON.stringify({ pid: process.pid }), { flag: "wx" });
      return folder;
    } catch (cause) {
      if (!isErrno(cause)) throw cause;
      throw new LocalApiStartError(
        `${path} can't keep the state (${cause.message}). Choose a directory that you can write to.`,
        { cause },
      );
    }
  }

  /** Removes the lock that a killed process left. */
  #requireFree(path: string): void {
    const pid = holderOf(this.#lock);
    if (pid !== undefined && isAlive(pid))
      throw new LocalApiStartError(
        `Process ${pid} already uses ${path}. End that process first. If it isn't a local API, delete ${this.#lock}.`,
      );
    rmSync(this.#lock, { force: true });
  }

  /** Returns the state that an earlier run left. Undefined if there's none. */
  load(): Snapshot | undefined {
    if (!existsSync(this.#file)) return undefined;
    try {
      return snapshotSchema.parse(JSON.parse(readFileSync(this.#file, "utf8")));
    } catch (cause) {
      throw new LocalApiStartError(
        `${this.#file} is not a valid state of the local API. Delete it, or use another directory.`,
        { cause },
      );
    }
  }

  /** Writes the state in one step, so that a killed process leaves either the old one or the new one. */
  close(snapshot: Snapshot): void {
    try {
      writeFileSync(`${this.#file}.new`, JSON.stringify(snapshot));
      renameSync(`${this.#file}.new`, this.#file);
    } finally {
      this.release();
    }
  }

  release(): void {
    rmSync(this.#lock, { force: true });
  }
}

/** Creates a directory and those above it. Node's own recursive mkdir never returns for a path such as /proc/x. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    if (!existsSync(path)) throw error; // Otherwise, another process was faster.
  }
}

function holderOf(lock: string): number | undefined {
  try {
    return holder.parse(JSON.parse(readFileSync(lock, "utf8"))).pid;
  } catch {
    return undefined; // The file was just removed, or a crash cut it short.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error) && error.code === "EPERM"; // The process is alive and belongs to another user.
  }
}

/** By its shape, because Node's errors aren't instances of a test sandbox's `Error`. */
function isErrno(error: unknown): error is NodeJS.ErrnoException {
  return typeof error === "object" && error !== null && "code" in error && "message" in error;
}
