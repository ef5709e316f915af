import { spawn } from "node:child_process";
import promises from "node:fs/promises";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { withMachineLock } from "../../provider/runtime/machine-lock";

/** One holder at a time among the processes that share a temporary directory, and none that dies with it. */

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "edgeguard-machine-lock-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const warned: string[] = [];
beforeEach(() => void warned.splice(0));
const options = () => ({
  folder,
  pause: (ms: number) => delay(ms),
  say: { warn: (line: string) => void warned.push(line) },
});
const locked = <T>(work: () => Promise<T>): Promise<T> => withMachineLock("zone", options(), work);

/** Leaves a claim behind, as a process of this PID would. */
async function claimBy(pid: number, host = hostname()): Promise<string> {
  await locked(() => Promise.resolve());
  const lock = join(folder, readdirSync(folder)[0] ?? "");
  const claim = join(lock, "2");
  writeFileSync(claim, JSON.stringify({ pid, host }));
  return claim;
}

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ["-e", ""]);
  await new Promise((ended) => child.once("close", ended));
  return child.pid ?? 0;
}

test("eight processes that start together take the lock one after the other", async () => {
  let holders = 0;
  let most = 0;
  let done = 0;
  await Promise.all(
    Array.from({ length: 8 }, () =>
      locked(async () => {
        most = Math.max(most, (holders += 1));
        await delay(1);
        holders -= 1;
        done += 1;
      }),
    ),
  );
  expect({ most, done }).toEqual({ most: 1, done: 8 });
  const [lock = ""] = readdirSync(folder);
  expect(readdirSync(join(folder, lock))).toHaveLength(1);
  expect(warned).toEqual([]);
});

test("each key has its own lock, and a failure releases it", async () => {
  await expect(
    locked(() => withMachineLock("another zone", options(), () => Promise.reject(new Error("work")))),
  ).rejects.toThrow("work");
  expect(await locked(() => Promise.resolve("free"))).toBe("free");
});

test("eight processes that find a dead holder at the same time take over one after the other", async () => {
  await claimBy(await deadPid());
  let holders = 0;
  await Promise.all(
    Array.from({ length: 8 }, () =>
      locked(async () => {
        expect((holders += 1)).toBe(1);
        await delay(1);
        holders -= 1;
      }),
    ),
  );
});

test.each([
  ["a live process", () => process.pid, hostname()],
  ["a process in another container, which this one can't see", () => 2 ** 22 - 1, "another-container"],
])("waits for a lock held by %s until the holder has been silent for a minute", async (_, pid, host) => {
  const claim = await claimBy(pid(), host);
  await expect(
    withMachineLock("zone", { ...options(), patienceMs: 60 }, () => Promise.resolve("held twice")),
  ).rejects.toThrow(/another process on this machine has held the lock .*Nothing was sent/);
  const longAgo = new Date(Date.now() - 61_000);
  utimesSync(claim, longAgo, longAgo);
  expect(await locked(() => Promise.resolve("free"))).toBe("free");
});

test("still does the work without a temporary directory, with a warning", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  const work = (): Promise<string> => Promise.resolve("done");
  expect(await withMachineLock("zone", { ...options(), folder: file }, work)).toBe("done");
  expect(warned).toEqual([expect.stringMatching(/can't lock out other processes .*ENOTDIR/)]);
});

/** An error as a system call gives it. */
const failure = (code: string, syscall: string): Error => Object.assign(new Error(code), { code, syscall });

test("still locks if it isn't allowed to remove another user's stale claim", async () => {
  await claimBy(await deadPid());
  const rm = jest.spyOn(promises, "rm").mockRejectedValue(failure("EPERM", "unlink"));
  try {
    let both = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, (both += 1));
      await delay(30);
      both -= 1;
    };
    await Promise.all([locked(work), locked(work)]);
    expect(most).toBe(1);
    expect(rm).toHaveBeenCalled();
  } finally {
    rm.mockRestore();
  }
  expect(warned).toEqual([]);
});

test("keeps the result of finished work if the lock can't be released", async () => {
  const probe = await promises.open(join(folder, "probe"), "w");
  const handles = Object.getPrototypeOf(probe) as promises.FileHandle;
  await probe.close();
  const truncate = jest.spyOn(handles, "truncate").mockRejectedValue(failure("ENOSPC", "ftruncate"));
  try {
    expect(await locked(() => Promise.resolve("done"))).toBe("done");
  } finally {
    truncate.mockRestore();
  }
});
