import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Ledger } from "../../provider/runtime/ledger";
import { LedgerJournal } from "../../provider/runtime/ledger-journal";
import { identityOf, SHARED, userDirectory } from "../../provider/runtime/user-directory";

/** What the provider processes of one engine know of each other's objects. */

const ENGINE = "127.0.0.1:40123";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "edgeguard-journal-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const open = (engine = ENGINE): Ledger => new Ledger(new LedgerJournal(engine, root));

/** The file of another process of the same user and engine, after this process has its own. */
function fileOf(pid: number): string {
  const own = readdirSync(userDirectory(root)).find((name) => name.endsWith(identityOf(process.pid) ?? ""));
  const [engine = "", host = ""] = own?.split(".") ?? [];
  return join(userDirectory(root), `${engine}.${identityOf(pid) ?? `${host}.${pid}.1`}`);
}

/** Writes as another process of the same user would. */
function writtenBy(pid: number, ...entries: readonly [string, string][]): void {
  const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`);
  writeFileSync(fileOf(pid), lines.join(""), { flag: "a" });
}

test("a delete keeps an object that another process created or adopted", () => {
  const ledger = open();
  expect(ledger.whyKept("KvNamespace", "a")).toBeUndefined();
  writtenBy(process.ppid, ["KvNamespace a", "made"], ["KvNamespace b", "changing"]);
  expect(ledger.whyKept("KvNamespace", "a")).toBe("adopted");
  expect(ledger.holding("KvNamespace", "b")).toBe("changing");
  expect(ledger.whyKept("KvNamespace", "b")).toBeUndefined();
  expect(ledger.whyKept("KvEntries", "a")).toBeUndefined();
  expect([ledger.othersHold("KvNamespace", "a"), ledger.othersHold("KvNamespace", "c")]).toEqual([
    true,
    false,
  ]);
});

test("a delete keeps an object that another process declares, as after a crash between create and delete", () => {
  const ledger = open();
  ledger.enter("KvNamespace", "a", "changing");
  expect(ledger.whyKept("KvNamespace", "a")).toBeUndefined();
  writtenBy(process.ppid, ["KvNamespace a", "unchanged"]);
  expect(ledger.whyKept("KvNamespace", "a")).toBe("adopted");
});

test("a delete keeps an object that another process only reads", () => {
  const ledger = open();
  writtenBy(process.ppid, ["read KvEntries a/1", "unchanged"]);
  expect(ledger.whyKept("KvEntries", "a/1")).toBe("read");
  expect(ledger.holding("KvEntries", "a/1")).toBeUndefined();
  expect(ledger.othersHold("KvEntries", "a/")).toBe(true);
});

test("ignores entries from dead processes and other engines", () => {
  const ledger = open();
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  writtenBy(pid, ["KvNamespace a", "made"]);
  expect(ledger.holding("KvNamespace", "a")).toBeUndefined();
  writtenBy(process.ppid, ["KvNamespace a", "made"]);
  expect(open("127.0.0.1:40124").holding("KvNamespace", "a")).toBeUndefined();
});

test("ignores an entry until it's completely written", () => {
  const ledger = open();
  const file = fileOf(process.ppid);
  writeFileSync(file, '["KvNamespace a"');
  expect(ledger.holding("KvNamespace", "a")).toBeUndefined();
  writeFileSync(file, ',"made"]\n', { flag: "a" });
  expect(ledger.holding("KvNamespace", "a")).toBe("made");
});

describe("claims that the provider processes share", () => {
  const claimant = (name: string) => ({ type: "KvNamespace", name, holder: `urn:${name}` });
  /** The claims of a second provider of the same engine. Its process is this one. */
  const others = () => new LedgerJournal(ENGINE, root).claims;
  const file = (): string => {
    const shared = readdirSync(userDirectory(root)).find((name) => name.endsWith(SHARED));
    return join(userDirectory(root), shared ?? "");
  };

  test("still apply if a killed process left half a line", () => {
    const { claims } = new LedgerJournal(ENGINE, root);
    claims.first("a", claimant("one"));
    writeFileSync(file(), '{"key":"half', { flag: "a" });
    expect(others().first("a", claimant("two")).name).toBe("one");
    expect(claims.first("b", claimant("one")).name).toBe("one");
    expect(others().first("b", claimant("two")).name).toBe("one");
  });

  test("still apply in a process after their directory was removed", () => {
    const { claims } = new LedgerJournal(ENGINE, root);
    claims.first("a", claimant("one"));
    rmSync(userDirectory(root), { recursive: true });
    expect(claims.first("b", claimant("two")).name).toBe("two");
    expect(claims.first("a", claimant("three")).name).toBe("one");
    expect(others().first("b", claimant("three")).name).toBe("two");
  });
});

test("runs work with the same key one at a time, even in a single process, and with different keys in parallel", async () => {
  const journal = new LedgerJournal(ENGINE, root);
  const seen: string[] = [];
  const options = { pause: (ms: number) => delay(ms), say: { warn: (line: string) => void seen.push(line) } };
  const work = (key: string, name: string): Promise<void> =>
    journal.exclusively(key, options, async () => {
      seen.push(`${name} in`);
      await delay(30);
      seen.push(`${name} out`);
    });
  await Promise.all([work("zone", "first"), work("zone", "second"), work("other", "free")]);
  const order = seen.filter((line) => !line.startsWith("free")).map((line) => line.split(" ")[1]);
  expect(order).toEqual(["in", "out", "in", "out"]);
  expect(seen.indexOf("free in")).toBeLessThan(3);
});

test("a process removes its file and those of dead processes when it ends, and the last one the directory", () => {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  const [host = ""] = (identityOf(process.pid) ?? "").split(".");
  for (const end of [`.${host}.${pid}.1`, SHARED])
    writeFileSync(join(userDirectory(root), `ledger-0123456789abcdef0123456789abcdef${end}`), "");
  const script = `
    const { LedgerJournal } = require(${JSON.stringify(join(process.cwd(), "provider/dist/runtime/ledger-journal"))});
    new LedgerJournal("${ENGINE}", ${JSON.stringify(root)}).write("KvNamespace a", "made");
    console.log(require("node:fs").readdirSync(${JSON.stringify(root)}).length);`;
  expect(spawnSync(process.execPath, ["-e", script], { encoding: "utf8" }).stdout).toBe("1\n");
  expect(readdirSync(root)).toEqual([]);
});
