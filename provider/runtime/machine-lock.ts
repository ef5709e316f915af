import { randomBytes } from "node:crypto";
import { closeSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../basics/files";
import {
  digestName,
  filesIn,
  identityOf,
  removeIfEmpty,
  UnsafeDirectoryError,
  userDirectory,
} from "./user-directory";

/**
 * A lock between a user's processes on one machine, such as `pulumi up` of two stacks with one zone.
 *
 * A claim is an empty file whose name is unique and says whose it is. A process holds the lock if it finds no other claim
 * of a live process after it made its own; otherwise, it withdraws its claim and tries again. So of two processes that
 * claim at the same time, at least one sees the other.
 */

export interface LockOptions {
  readonly pause: (ms: number) => Promise<void>;
  readonly say: { warn(line: string): void };
  /** How long to wait for another process. */
  readonly patienceMs?: number;
  /** The parent of the user's directory. By default, the system's temporary directory. */
  readonly root?: string | undefined;
}

const PATIENCE_MS = 120_000;
const POLL_MS = 25;

/**
 * Runs `work` while holding the lock. Without a temporary directory, warns and runs it without the lock.
 *
 * @throws if another process holds the lock for longer than `patienceMs`, or the user's directory isn't safe. In both
 * cases, `work` never started.
 */
export async function withMachineLock<T>(
  key: string,
  { pause, say, patienceMs = PATIENCE_MS, root }: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const end = performance.now() + patienceMs;
  let claim: Claim | { readonly holder: string } | undefined;
  try {
    for (claim = tryClaim(key, root); "holder" in claim; claim = tryClaim(key, root)) {
      if (performance.now() > end)
        throw new Error(
          `another process on this machine has held the lock ${claim.holder} for ${Math.round(patienceMs / 1000)} s. Nothing was sent. Run the command again when that process has ended, or remove that file if there is none.`,
        );
      await pause(POLL_MS * (0.5 + Math.random()));
    }
  } catch (error) {
    if (error instanceof UnsafeDirectoryError || codeOf(error) === undefined) throw error;
    say.warn(
      `can't lock out other processes on this machine: ${String(error)}. Don't run two updates of the same zone at once.`,
    );
    return await work();
  }
  const { release } = claim;
  HELD.add(release);
  if (HELD.size === 1) process.on("exit", releaseAll);
  try {
    return await work();
  } finally {
    HELD.delete(release);
    if (HELD.size === 0) process.off("exit", releaseAll);
    release();
  }
}

/** Releases the locks that this process holds. */
const HELD = new Set<() => void>();
const releaseAll = (): void => HELD.forEach((release) => release());

interface Claim {
  readonly release: () => void;
}

/** Claims the lock, or returns the file of the process that holds it. */
function tryClaim(key: string, root: string | undefined): Claim | { readonly holder: string } {
  const folder = userDirectory(root);
  const lock = `${digestName("lock", key)}.`;
  const own = `${lock}${identityOf(process.pid) ?? ""}.${randomBytes(8).toString("hex")}`;
  const release = (): void => {
    rmSync(join(folder, own), { force: true });
    removeIfEmpty(folder);
  };
  const others = (): string[] => filesIn(folder, lock).filter((name) => name !== own);
  try {
    let [holder] = others();
    if (holder === undefined) {
      closeSync(openSync(join(folder, own), "wx", 0o600));
      [holder] = others();
      if (holder === undefined) return { release };
      release();
    }
    return { holder: join(folder, holder) };
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    return { holder: join(folder, lock) }; // The last of the other processes has just removed the directory.
  }
}
