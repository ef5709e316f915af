import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { OperationRecord, openRecord } from "../../provider/runtime/operation-record";
import { identityOf, SHARED, userDirectory } from "../../provider/runtime/user-directory";
import { folderPerTest } from "../support/bench";

/** What the provider processes of one engine know of each other's resources. */

const ENGINE = "127.0.0.1:40123";

const ROOT = folderPerTest("record");

const open = (engine = ENGINE): OperationRecord => new OperationRecord(engine, ROOT);
const resource = (name: string) => ({ name, holder: `urn:${name}` });

/** The operation's file. */
function file(): string {
  const [name = ""] = readdirSync(userDirectory(ROOT)).filter((each) => each.endsWith(SHARED));
  return join(userDirectory(ROOT), name);
}

/** Lets another process of the same user do something with a record of this engine. */
function inProcess(pid: number, work: (record: OperationRecord) => void): void {
  const before = readFileSync(file(), "utf8");
  work(open());
  const [own, other] = [identityOf(process.pid) ?? "", identityOf(pid) ?? `00000000.${pid}.1`];
  const [host = ""] = own.split(".");
  const added = readFileSync(file(), "utf8").slice(before.length);
  writeFileSync(file(), before + added.replaceAll(own, other.replace("00000000", host)));
}

test("a delete keeps an object that another process created or adopted", () => {
  const record = open();
  expect(record.whyKept("KvNamespace", "a")).toBeUndefined();
  inProcess(process.ppid, (other) => {
    other.hold("KvNamespace", "a", "made");
    other.hold("KvNamespace", "b", "changing");
  });
  expect(record.whyKept("KvNamespace", "a")).toBe("adopted");
  expect(record.holding("KvNamespace", "b")).toBe("changing");
  expect(record.whyKept("KvNamespace", "b")).toBeUndefined();
  expect(record.whyKept("KvEntries", "a")).toBeUndefined();
});

test("a delete keeps an object that another process declares, as after a crash between create and delete", () => {
  const record = open();
  record.hold("KvNamespace", "a", "changing");
  expect(record.whyKept("KvNamespace", "a")).toBeUndefined();
  inProcess(process.ppid, (other) => other.hold("KvNamespace", "a", "unchanged"));
  expect(record.whyKept("KvNamespace", "a")).toBe("adopted");
});

test("a delete keeps an object that the program only reads, with all its parts", () => {
  for (const record of [open(), new OperationRecord()]) {
    record.read("KvEntries", "a");
    for (const id of ["a", "a/1"]) expect(record.whyKept("KvEntries", id)).toBe("read");
    for (const id of ["b/1", "ab", "ab/1"]) expect(record.whyKept("KvEntries", id)).toBeUndefined();
    expect(record.holding("KvEntries", "a")).toBeUndefined();
  }
});

test("tells whether another process manages or reads parts of an object", () => {
  const record = open();
  record.hold("KvEntries", "a/1", "made");
  expect(record.othersHold("KvEntries", "a")).toBe(false);
  inProcess(process.ppid, (other) => {
    other.hold("KvEntries", "a/2", "unchanged");
    other.read("KvEntries", "b");
  });
  expect(["a", "b", "c"].map((id) => record.othersHold("KvEntries", id))).toEqual([true, true, false]);
});

test("ignores entries of dead processes, even if their PID is used again, and of other engines", () => {
  const record = open();
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  inProcess(pid, (other) => {
    other.hold("KvNamespace", "a", "made");
    other.declare("KvNamespace x", resource("dead"));
  });
  expect(record.holding("KvNamespace", "a")).toBeUndefined();
  writeFileSync(file(), readFileSync(file(), "utf8").replaceAll(`.${pid}.`, `.${process.ppid}.`));
  expect(open().holding("KvNamespace", "a")).toBeUndefined(); // The parent started at another time.
  expect(record.declare("KvNamespace x", resource("one")).name).toBe("one");
  expect(open("127.0.0.1:40124").declare("KvNamespace x", resource("two")).name).toBe("two");
});

test("knows which resource declared something first, and accepts the same resource again", () => {
  const [one, two] = [open(), open()];
  expect(one.declare("KvNamespace a", resource("one")).name).toBe("one");
  expect(two.declare("KvNamespace a", resource("two")).name).toBe("one");
  expect(one.declare("KvNamespace a", resource("one")).name).toBe("one");
  const alone = new OperationRecord();
  expect(alone.declare("KvNamespace a", resource("three")).name).toBe("three");
  expect(alone.declare("KvNamespace a", resource("four")).name).toBe("three");
});

test("ignores an incomplete line, which a killed process may leave", () => {
  const record = open();
  writeFileSync(file(), '{"by":"half', { flag: "a" });
  record.hold("KvNamespace", "a", "made");
  expect(open().holding("KvNamespace", "a")).toBe("made");
  expect(record.holding("KvNamespace", "a")).toBe("made");
});

test("keeps what it has read after the directory was removed", () => {
  const record = open();
  record.declare("KvNamespace a", resource("one"));
  rmSync(userDirectory(ROOT), { recursive: true });
  expect(record.declare("KvNamespace b", resource("two")).name).toBe("two");
  expect(record.declare("KvNamespace a", resource("three")).name).toBe("one");
  expect(open().declare("KvNamespace b", resource("three")).name).toBe("two");
});

test("writes no argument or ID in plain text", () => {
  const record = open();
  record.declare("KvNamespace canary-title", resource("one"));
  record.hold("KvEntries", "canary-namespace/1", "made");
  expect(readFileSync(file(), "utf8")).not.toContain("canary");
});

test("is only kept in memory if no directory can be written, and fails then for an explicit provider", () => {
  writeFileSync(join(ROOT, "file"), "");
  const opened = (name: string | undefined) => openRecord(ENGINE, () => name, join(ROOT, "file"));
  expect(opened(undefined)).toEqual({});
  expect(opened("eu").problem).toMatch(/Provider "eu" can't share which objects it owns .*Set TMPDIR/);
});

test("runs work with the same key one at a time, even of two engines, and with different keys in parallel", async () => {
  const [record, another] = [open(), open("127.0.0.1:2")];
  const seen: string[] = [];
  const options = { pause: (ms: number) => delay(ms), say: { warn: (line: string) => void seen.push(line) } };
  const work = (key: string, name: string, by = record): Promise<void> =>
    by.exclusively(key, options, async () => {
      seen.push(`${name} in`);
      await delay(30);
      seen.push(`${name} out`);
    });
  await Promise.all([
    work("zone", "first"),
    work("zone", "second"),
    work("zone", "third", another),
    work("other", "free"),
  ]);
  const order = seen.filter((line) => !line.startsWith("free")).map((line) => line.split(" ")[1]);
  expect(order).toEqual(["in", "out", "in", "out", "in", "out"]);
  expect(seen.indexOf("free in")).toBeLessThan(3);
});

test("the last process removes the file and those of dead processes when it ends, and the directory", () => {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  const [host = ""] = (identityOf(process.pid) ?? "").split(".");
  const name = "operation-0123456789abcdef0123456789abcdef";
  writeFileSync(join(userDirectory(ROOT), name + SHARED), `{"by":"${host}.${pid}.1"}\n`);
  writeFileSync(join(userDirectory(ROOT), `lock-0.${host}.${pid}.1`), "");
  const script = `
    const { OperationRecord } = require(${JSON.stringify(join(process.cwd(), "provider/dist/runtime/operation-record"))});
    new OperationRecord("${ENGINE}", ${JSON.stringify(ROOT)}).hold("KvNamespace", "a", "made");
    console.log(require("node:fs").readdirSync(${JSON.stringify(ROOT)}).length);`;
  expect(spawnSync(process.execPath, ["-e", script], { encoding: "utf8" }).stdout).toBe("1\n");
  expect(readdirSync(ROOT)).toEqual([]);
});
