import { createHash } from "node:crypto";
import { chmod, mkdir, open, readdir, readFile, rm, stat, type FileHandle } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

/**
 * An advisory lock between the processes of one machine: `pulumi up` of two stacks, say. It reaches no further than the
 * temporary directory that they share.
 *
 * A lock is a directory, a claim is a file in it named by a number that only counts up, created exclusively. The highest
 * number holds the lock until it says "released" or its process is dead. A claim is never taken away from somebody, only
 * followed by the next number, so two processes that find the same dead holder cannot both succeed it.
 */

interface Options {
  readonly pause: (ms: number) => Promise<void>;
  readonly say: { warn(line: string): void };
  /** How long to wait for another process before giving up. */
  readonly patienceMs?: number;
  /** Where locks are kept. Default: the machine's directory for temporary files. */
  readonly folder?: string;
}

/** A holder touches its claim this often. */
const BEAT_MS = 5_000;
/** One that hasn't for so long is gone, even if another process has got its PID since (or it ran in another container). */
const SILENT_MS = 60_000;
const PATIENCE_MS = 120_000;
const LOOK_MS = 25;
const RELEASED = "released";

/** @throws when another process keeps the lock for longer than the patience; then `work` has not begun. */
export async function withMachineLock<T>(
  key: string,
  { pause, say, patienceMs = PATIENCE_MS, folder: root = tmpdir() }: Options,
  work: () => Promise<T>,
): Promise<T> {
  const folder = join(root, `edgeguard-lock-${createHash("sha256").update(key).digest("hex").slice(0, 32)}`);
  const end = performance.now() + patienceMs;
  let claim: FileHandle | undefined;
  try {
    // Other users of the machine lock here, too.
    if ((await mkdir(folder, { recursive: true })) !== undefined) await chmod(folder, 0o1777);
    for (claim = await claimed(folder); claim === undefined; claim = await claimed(folder)) {
      if (performance.now() > end)
        throw new Error(
          `another process on this machine has been at it for ${Math.round(patienceMs / 1000)} s (its lock: ${folder}). Nothing was sent. Run again when it has ended.`,
        );
      await pause(LOOK_MS);
    }
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    say.warn(
      `cannot lock against other processes on this machine: ${String(error)}. Don't run two updates of the same zone at once.`,
    );
  }
  if (claim === undefined) return await work();
  const held = claim;
  // A beat that fails is made up for by the next; the process being alive counts as well.
  const beat = setInterval(() => void held.utimes(new Date(), new Date()).catch(() => undefined), BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    // A disk that is full must not turn work that is done into an error: the lock then ends with the process.
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

/** The claim that holds the lock from now on; undefined where somebody else holds it. */
async function claimed(folder: string): Promise<FileHandle | undefined> {
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
  // A process that was paused between its look and its claim may be generations late.
  if ((await newest(folder)) > before + 1) {
    await file.close();
    await rm(own, { force: true });
    return undefined;
  }
  // Another user's claim can't be removed from a shared directory: the higher number outweighs it.
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
    // Between its creation and its first write it says nothing yet.
    const { data } = holder.safeParse(
      text.startsWith("{") && text.endsWith("}") ? JSON.parse(text) : undefined,
    );
    return data === undefined || data.host !== hostname() || isAlive(data.pid);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return true; // A newer one has taken its place.
    throw error;
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

/** Of an error of Node's. */
function codeOf(error: unknown): string | undefined {
  const { data } = z.object({ code: z.string(), syscall: z.string() }).safeParse(error);
  return data?.code;
}
