import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "../basics/files";

/**
 * The one directory that all processes of a user share on a machine. Each file in it that belongs to a process ends in
 * that process's identity, so a file whose process is gone is recognized by its name alone, and anyone may remove it.
 */

/** Thrown if another user may control the directory. */
export class UnsafeDirectoryError extends Error {
  override readonly name = "UnsafeDirectoryError";
}

/**
 * Creates the directory if necessary, and returns its path.
 *
 * @throws UnsafeDirectoryError if it's a link or another user can write to it.
 */
export function userDirectory(root = tmpdir()): string {
  const uid = process.getuid?.(); // Undefined on Windows, where each user has a temporary directory.
  const folder = join(root, `edgeguard-${uid ?? "user"}`);
  let found;
  do {
    mkdirIfAbsent(folder);
    found = lstatSync(folder, { throwIfNoEntry: false }); // Undefined if the last process to use it has just removed it.
  } while (found === undefined);
  const isPrivate = uid === undefined || (found.uid === uid && (found.mode & 0o077) === 0);
  if (found.isDirectory() && isPrivate) return folder;
  throw new UnsafeDirectoryError(
    `${folder} must be a directory that belongs to you and that only you can use (mode 0700). Remove it, or set TMPDIR to a directory of your own.`,
  );
}

function mkdirIfAbsent(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

/** Returns a name that says nothing about its key, and that no key can choose. */
export function digestName(kind: string, key: string): string {
  return `${kind}-${createHash("sha256").update(key).digest("hex").slice(0, 32)}`;
}

/** This machine or container. Processes of another one can't be seen. */
const HOST = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);

/** This process's identity, once it was asked for: reading it takes the system longer than all else of a lock. */
let own: string | undefined;

/** Returns a process's ID with its start time, because IDs are used again. Undefined if there's no such process. */
export function identityOf(pid: number): string | undefined {
  return pid === process.pid ? (own ??= readIdentity(pid)) : readIdentity(pid);
}

function readIdentity(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command before the last parenthesis may contain anything. The start time is the twentieth field after it.
    return `${HOST}.${pid}.${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "0"}`;
  } catch {
    return isAlive(pid) ? `${HOST}.${pid}.0` : undefined; // Only Linux has /proc.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/** Whether the process that a text ends in, or a file's name, is gone. */
export function isOfDead(name: string): boolean {
  const [, identity, host, pid] = /(?:^|\.)(([0-9a-f]{8})\.(\d{1,9})\.\d+)(?:\.[0-9a-f]+)?$/.exec(name) ?? [];
  return identity !== undefined && host === HOST && identityOf(Number(pid)) !== identity;
}

/** What the name of a file ends in that several processes write. Its lines say which of them wrote it. */
export const SHARED = ".shared";

/** Lists the files whose names begin with the prefix, after removing those of dead processes. */
export function filesIn(folder: string, prefix: string): string[] {
  const names = readdirSync(folder);
  const kept = names.filter((name) => !isOfDead(name));
  for (const name of names) if (!kept.includes(name)) rmSync(join(folder, name), { force: true });
  return kept.filter((name) => name.startsWith(prefix));
}

/**
 * Removes what dead processes left, and the directory if it's empty then.
 *
 * @param ending the identity of the process that's ending.
 */
export function removeUnused(root?: string, ending?: string): void {
  try {
    const folder = userDirectory(root);
    for (const name of filesIn(folder, "").filter((each) => each.endsWith(SHARED))) {
      const lines = readFileSync(join(folder, name), "utf8");
      const writers = new Set(Array.from(lines.matchAll(/"by":"([^"]*)"/g), ([, by = ""]) => by));
      if ([...writers].every((by) => by === ending || isOfDead(by)))
        rmSync(join(folder, name), { force: true });
    }
    if (ending !== undefined) removeIfEmpty(folder);
  } catch {
    // Another process has just removed a file or the directory, or it's no longer safe.
  }
}

export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Another process still uses it, or has just removed it.
  }
}
