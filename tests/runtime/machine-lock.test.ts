import { spawn, spawnSync } from "node:child_process";
import fs, { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { withMachineLock } from "../../provider/runtime/machine-lock";
import { openRecord } from "../../provider/runtime/operation-record";
import { digestName, identityOf, userDirectory } from "../../provider/runtime/user-directory";
import { folderPerTest } from "../support/bench";

/** One holder at a time among a user's processes, in a directory that nobody else controls, and nothing left behind. */

const ROOT = folderPerTest("machine-lock");

const warned: string[] = [];
beforeEach(() => void warned.splice(0));
const options = () => ({
  root: ROOT,
  pause: (ms: number) => delay(ms),
  say: { warn: (line: string) => void warned.push(line) },
});
const locked = <T>(work: () => Promise<T>): Promise<T> => withMachineLock("zone", options(), work);
const free = (): Promise<string> => locked(() => Promise.resolve("free"));
/** Leaves a claim behind, as a process with this identity would. */
function claimBy(identity: string): string {
  const path = join(userDirectory(ROOT), `${digestName("lock", "zone")}.${identity}.0123456789abcdef`);
  writeFileSync(path, "");
  return path;
}

function deadIdentity(): string {
  return `${identityOf(process.pid)?.split(".")[0] ?? ""}.${spawnSync(process.execPath, ["-e", ""]).pid}.1`;
}

async function eightAtOnce(): Promise<{ most: number; done: number }> {
  const seen = { holders: 0, most: 0, done: 0 };
  const work = async (): Promise<void> => {
    seen.most = Math.max(seen.most, (seen.holders += 1));
    await delay(1);
    seen.holders -= 1;
    seen.done += 1;
  };
  await Promise.all(Array.from({ length: 8 }, () => locked(work)));
  return { most: seen.most, done: seen.done };
}

test("eight that start together take the lock one after the other, and leave nothing behind", async () => {
  expect(await eightAtOnce()).toEqual({ most: 1, done: 8 });
  expect(readdirSync(ROOT)).toEqual([]);
  expect(warned).toEqual([]);
});

test("eight that find a dead holder at the same time take over one after the other", async () => {
  claimBy(deadIdentity());
  expect(await eightAtOnce()).toEqual({ most: 1, done: 8 });
  expect(readdirSync(ROOT)).toEqual([]);
});

test("a process that claims the lock at the same moment as another one lets that one go first", async () => {
  const { openSync } = fs;
  let other = "";
  jest.spyOn(fs, "openSync").mockImplementationOnce((...args) => {
    other = claimBy(identityOf(process.ppid) ?? ""); // After the first look, before the own claim.
    return openSync(...args);
  });
  const pause = (): Promise<void> => {
    rmSync(other);
    other = "";
    return Promise.resolve();
  };
  const holders = await withMachineLock("zone", { ...options(), pause }, () => Promise.resolve(other));
  expect(holders).toBe("");
  expect(readdirSync(ROOT)).toEqual([]);
});

test("four processes that increase a counter never do so at the same time", async () => {
  const counter = join(ROOT, "counter");
  writeFileSync(counter, "0");
  const script = `
    const { withMachineLock } = require(${JSON.stringify(resolve("provider/dist/runtime/machine-lock"))});
    const fs = require("node:fs");
    const pause = (ms) => new Promise((done) => setTimeout(done, ms));
    const increase = async () => {
      const before = Number(fs.readFileSync(${JSON.stringify(counter)}, "utf8"));
      await pause(2);
      fs.writeFileSync(${JSON.stringify(counter)}, String(before + 1));
    };
    (async () => {
      for (let n = 0; n < 25; n += 1)
        await withMachineLock("zone", { root: ${JSON.stringify(ROOT)}, pause, say: { warn: console.error } }, increase);
    })();`;
  const runs = Array.from({ length: 4 }, () => {
    const child = spawn(process.execPath, ["-e", script], { stdio: "inherit" });
    return new Promise((ended) => child.once("close", ended));
  });
  expect(await Promise.all(runs)).toEqual([0, 0, 0, 0]);
  const count = spawnSync("cat", [counter], { encoding: "utf8" }).stdout;
  expect(count).toBe("100");
  expect(readdirSync(ROOT)).toEqual(["counter"]);
});

test("each key has its own lock, and a failure releases it", async () => {
  await expect(
    locked(() => withMachineLock("another zone", options(), () => Promise.reject(new Error("work")))),
  ).rejects.toThrow("work");
  expect(await free()).toBe("free");
});

test.each([
  ["a live process", () => identityOf(process.ppid) ?? ""],
  ["a process in another container, which this one can't see", () => "00000000.4194303.1"],
])("waits for a lock held by %s, names the file after a while, and sends nothing", async (_, identity) => {
  claimBy(identity());
  const impatient = { ...options(), patienceMs: 60 };
  await expect(withMachineLock("zone", impatient, () => Promise.resolve("held twice"))).rejects.toThrow(
    /another process on this machine has held the lock \S+\.0123456789abcdef for 0 s\. Nothing was sent\. .* remove that file/,
  );
});

test("a process that has the ID of a dead holder isn't the holder", async () => {
  const [host = "", pid = ""] = (identityOf(process.ppid) ?? "").split(".");
  claimBy(`${host}.${pid}.1`);
  expect(await free()).toBe("free");
});

test("a process that's told to exit while it holds a lock leaves nothing behind", () => {
  const script = `
    const { withMachineLock } = require(${JSON.stringify(resolve("provider/dist/runtime/machine-lock"))});
    void withMachineLock("zone", { root: ${JSON.stringify(ROOT)}, pause: () => {}, say: console }, () => process.exit(7));`;
  expect(spawnSync(process.execPath, ["-e", script]).status).toBe(7);
  expect(readdirSync(ROOT)).toEqual([]);
});

describe("the user's directory", () => {
  const folder = (): string => join(ROOT, `edgeguard-${process.getuid?.() ?? "user"}`);
  const providerIn = (temporary: string) => openRecord("127.0.0.1:40123", () => undefined, temporary);

  test.each<[string, () => void]>([
    [
      "is a link",
      () => {
        mkdirSync(join(ROOT, "elsewhere"), { mode: 0o700 });
        writeFileSync(join(ROOT, "elsewhere", "1"), "theirs");
        symlinkSync(join(ROOT, "elsewhere"), folder());
      },
    ],
    [
      "is open to others",
      () => {
        mkdirSync(folder());
        chmodSync(folder(), 0o777);
      },
    ],
    ["is a file", () => writeFileSync(folder(), "", { mode: 0o600 })],
    [
      "belongs to another user",
      () => {
        const uid = process.getuid?.() ?? 0;
        jest.spyOn(process, "getuid").mockReturnValue(uid + 1);
      },
    ],
  ])("is refused if it %s: nothing is locked, deleted or sent", async (_, prepare) => {
    prepare();
    try {
      const refusal = /edgeguard-\d+ must be a directory that belongs to you and that only you can use/;
      await expect(free()).rejects.toThrow(refusal);
      expect(providerIn(ROOT)).toEqual({ problem: expect.stringMatching(refusal) as string });
    } finally {
      jest.restoreAllMocks();
    }
    if (readdirSync(ROOT).includes("elsewhere")) expect(readdirSync(join(ROOT, "elsewhere"))).toEqual(["1"]);
    expect(warned).toEqual([]);
  });

  test("may contain files with any names: none of them is a lock or is removed", async () => {
    const names = ["1", "1e308", "Infinity", "lock-", "edgeguard-lock-1"];
    for (const name of names) writeFileSync(join(userDirectory(ROOT), name), "");
    expect(await free()).toBe("free");
    expect(readdirSync(userDirectory(ROOT)).sort()).toEqual([...names].sort());
  });

  test("isn't needed by a single provider, which says that it can't lock", async () => {
    const file = join(ROOT, "file");
    writeFileSync(file, "");
    const work = (): Promise<string> => Promise.resolve("done");
    expect(await withMachineLock("zone", { ...options(), root: file }, work)).toBe("done");
    expect(warned).toEqual([expect.stringMatching(/can't lock out other processes .*ENOTDIR/)]);
    expect(providerIn(file)).toEqual({});
  });
});
