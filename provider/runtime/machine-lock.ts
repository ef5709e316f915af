import { createHash } from "node:crypto";
import { chmod, mkdir, open, readdir, readFile, rm, stat, type FileHandle } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

/**
 * An advisory lock between processes on one machine that share a temporary directory, such as `pulumi up` of two stacks.
 *
 * A lock is a directory. A claim is a file in it, created exclusively and named with an ever-increasing number. The
 * claim with the highest number holds the lock until its file says "released" or its process is dead. Claims are never
 * revoked, only followed by the next number, so two processes that find the same dead holder can't both take over.
 */

export interface LockOptions {
  readonly pause: (ms: number) => Promise<void>;
  readonly say: { warn(line: string): void };
  /** How long to wait for another process. */
  readonly patienceMs?: number;
  /** The parent directory of locks. By default, the system's temporary directory. */
  readonly folder?: string;
}

/** How often a holder updates its claim, in milliseconds. */
const HEARTBEAT_MS = 5_000;
/**
 * A holder that hasn't updated its claim for this long is considered dead, even if another process now has its PID (or
 * it ran in another container).
 */
const SILENT_MS = 60_000;
const PATIENCE_MS = 120_000;
const POLL_MS = 25;
const RELEASED = "released";

/** Runs `work` while holding the lock.
 *
 * @throws if another process holds the lock for longer than `patienceMs`, in which case `work` never started.
 */
export async function withMachineLock<T>(
  key: string,
  { pause, say, patienceMs = PATIENCE_MS, folder: root = tmpdir() }: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const folder = join(root, `edgeguard-lock-${createHash("sha256").update(key).digest("hex").slice(0, 32)}`);
  const end = performance.now() + patienceMs;
  let claim: FileHandle | undefined;
  try {
    // Other users on the machine share this directory.
    if ((await mkdir(folder, { recursive: true })) !== undefined) await chmod(folder, 0o1777);
    for (claim = await tryClaim(folder); claim === undefined; claim = await tryClaim(folder)) {
      if (performance.now() > end)
        throw new Error(
          `another process on this machine has held the lock ${folder} for ${Math.round(patienceMs / 1000)} s. Nothing was sent. Run the command again when that process has ended.`,
        );
      await pause(POLL_MS);
    }
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    say.warn(
      `can't lock out other processes on this machine: ${String(error)}. Don't run two updates of the same zone at once.`,
    );
  }
  if (claim === undefined) return await work();
  const held = claim;
  // A failed heartbeat doesn't matter: another one follows, and the process is still alive.
  const heartbeat = setInterval(
    () => void held.utimes(new Date(), new Date()).catch(() => undefined),
    HEARTBEAT_MS,
  );
  heartbeat.unref();
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    // A full disk must not turn finished work into an error. The lock then lasts until the process exits.
    await release(held).catch(() => undefined);
  }
}

async function release(claim: FileHandle): Promise<void> {
  try {
    await claim.truncate(0);
    await claim.write(RELEASED, 0);
  } finally {
    await claim.close();
  }
}

/** Tries to claim the lock. Undefined if another process holds it. */
async function tryClaim(folder: string): Promise<FileHandle | undefined> {
  const before = await newest(folder);
  if (before > 0 && (await isHeld(join(folder, String(before))))) return undefined;
  const own = join(folder, String(before + 1));
  let file: FileHandle;
  try {
    file = await open(own, "wx");
  } catch (error) {
    if (codeOf(error) === "EEXIST") return undefined;
    throw error;
  }
  await file.writeFile(JSON.stringify({ pid: process.pid, host: hostname() }));
  // A process that was suspended before making its claim may be many numbers behind.
  if ((await newest(folder)) > before + 1) {
    await file.close();
    await rm(own, { force: true });
    return undefined;
  }
  // Another user's claim can't be removed from a shared directory; the higher number wins anyway.
  if (before > 0) await rm(join(folder, String(before)), { force: true }).catch(() => undefined);
  return file;
}

async function newest(folder: string): Promise<number> {
  return Math.max(0, ...(await readdir(folder)).map(Number).filter(Number.isInteger));
}

const holder = z.object({ pid: z.int().positive(), host: z.string() });

async function isHeld(path: string): Promise<boolean> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    if (text === RELEASED || Date.now() - mtimeMs > SILENT_MS) return false;
    // Between creation and first write, a claim is empty.
    const { data } = holder.safeParse(
      text.startsWith("{") && text.endsWith("}") ? JSON.parse(text) : undefined,
    );
    return data === undefined || data.host !== hostname() || isAlive(data.pid);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return true; // A newer claim replaced it.
    throw error;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/** Returns the code of a Node.js error. */
export function codeOf(error: unknown): string | undefined {
  const { data } = z.object({ code: z.string(), syscall: z.string() }).safeParse(error);
  return data?.code;
}
