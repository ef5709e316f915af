import { execFileSync, spawn } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { devNull } from "node:os";
import { join } from "node:path";
import { BIN, Desk, ended, type Ran } from "./support";
import { testUnless } from "../support/skip";
import { folderPerFile } from "../support/bench";

/** Files that can be read only once: standard input and pipes. */

let desk: Desk;
/** The command's folder for temporary files. */
const TEMPORARY = folderPerFile("pipes");
beforeAll(async () => {
  desk = await Desk.set();
  process.env["TMPDIR"] = TEMPORARY;
});
beforeEach(() => desk.api.reset());
afterEach(() => expect(readdirSync(TEMPORARY)).toEqual([]));

const ENTRIES = JSON.stringify(["a", "b"].map((key) => ({ key: `piped/${key}`, value: key })));
const KEYS = JSON.stringify(["piped/a", "piped/b"]);

const from = (input: string, ...args: string[]): Promise<Ran> =>
  desk.at({ input }, "kv", "bulk", ...args, "--binding", "EXISTING");

/** A pipe in the project's folder, with a writer. */
function pipe(name: string, content: string): string {
  execFileSync("mkfifo", [join(desk.cwd, name)]);
  spawn("bash", ["-c", 'echo "$CONTENT" > "$0"', name], { cwd: desk.cwd, env: { CONTENT: content } });
  return name;
}

const piped = async (): Promise<unknown[]> =>
  (await desk.keys()).map(({ name }) => name).filter((name) => String(name).startsWith("piped/"));

test("bulk put and bulk delete read standard input if the file is -", async () => {
  const wrote = { code: 0, stderr: expect.stringContaining("wrote 2 entries") as string };
  expect(await from(ENTRIES, "put", "-")).toMatchObject(wrote);
  expect(await piped()).toEqual(["piped/a", "piped/b"]);
  const unsaid = { code: 2, stderr: expect.stringContaining("Pass --yes") as string };
  expect(await from(KEYS, "delete", "-")).toMatchObject(unsaid);
  expect(await piped()).toHaveLength(2);
  const gone = { code: 0, stderr: expect.stringContaining("deleted 2 keys") as string };
  expect(await from(KEYS, "delete", "-", "--yes")).toMatchObject(gone);
  expect(await piped()).toEqual([]);
});

test("bulk put refuses invalid standard input with line and column, and sends nothing", async () => {
  const ran = await from("[x", "put", "-");
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain("standard input, line 1, column 2: this is not valid JSON");
  const empty = { code: 1, stderr: expect.stringContaining("standard input is empty") as string };
  expect(await from("", "put", "-")).toMatchObject(empty);
});

test("bulk put and bulk delete read a pipe, such as a shell's <(…)", async () => {
  const line = `"${process.execPath}" "${BIN}" kv bulk put <(echo "$ENTRIES") --binding EXISTING`;
  const env = { ...desk.env, TMPDIR: TEMPORARY, ENTRIES };
  const put = await ended(
    spawn("bash", ["-c", line], { cwd: desk.cwd, env, stdio: ["ignore", "pipe", "pipe"] }),
  );
  expect(put).toMatchObject({ code: 0, stderr: expect.stringContaining("wrote 2 entries") as string });
  const gone = { code: 0, stderr: expect.stringContaining("deleted 2 keys") as string };
  expect(await from("", "delete", pipe("keys", KEYS), "--yes")).toMatchObject(gone);
  expect(await piped()).toEqual([]);
});

test("Ctrl-C while reading a pipe ends the command and leaves no temporary copy", async () => {
  const env = { ...desk.env, TMPDIR: TEMPORARY };
  const args = [BIN, "kv", "bulk", "put", "-", "--binding", "EXISTING"];
  const child = spawn(process.execPath, args, { cwd: desk.cwd, env, stdio: "pipe" });
  child.stdin.write(ENTRIES.slice(0, 10));
  const ran = ended(child);
  while (readdirSync(TEMPORARY).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  child.kill("SIGINT");
  expect(await ran).toMatchObject({ code: 130, stderr: "edgeguard: interrupted. Nothing was sent.\n" });
});

test("bulk put and key put refuse a device, because it may never end", async () => {
  const refused = {
    code: 1,
    stderr: expect.stringContaining("it is a pipe, socket or device, not a regular file") as string,
  };
  expect(await from("", "put", "/dev/zero")).toMatchObject(refused);
  const put = ["kv", "key", "put", "k", "--path", "/dev/zero", "--binding", "EXISTING"];
  expect(await desk.here(...put)).toMatchObject(refused);
});

// Some containers have a regular file there, which holds what other processes wrote to it.
const IS_DEVICE = statSync(devNull).isCharacterDevice();
const WHY = IS_DEVICE ? undefined : "on this machine, /dev/null is not a device";
testUnless(WHY)("treats /dev/null as an empty file", async () => {
  const empty = { code: 1, stderr: expect.stringContaining("/dev/null is empty") as string };
  expect(await from("", "get", "/dev/null")).toMatchObject(empty);
  const put = ["kv", "key", "put", "blank", "--path", "/dev/null", "--binding", "EXISTING"];
  expect(await desk.here(...put)).toMatchObject({ code: 0 });
  expect(await desk.value("blank")).toEqual(Buffer.alloc(0));
});

test("refuses metadata whose numbers would lose digits, and accepts __proto__ as a key", async () => {
  const metadata = '{"a":[{"id":9007199254740993}]}';
  const args = ["kv", "key", "put", "__proto__", "v", "--metadata", metadata, "--binding", "EXISTING"];
  expect(await desk.here(...args)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("metadata.a[0].id is a number that loses digits in JSON") as string,
  });
  expect(await desk.here("kv", "key", "put", "__proto__", "v", "--binding", "EXISTING")).toMatchObject({
    code: 0,
  });
  expect(String(await desk.value("__proto__"))).toBe("v");
  desk.write("keys.json", '[{"__proto__":{"name":"__proto__"}}]');
  expect(
    await desk.here("kv", "bulk", "delete", "keys.json", "--yes", "--binding", "EXISTING"),
  ).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("expected a string, or an object with a name") as string,
  });
  expect(await desk.here("kv", "key", "list", "--env", "constructor", "--binding", "EXISTING")).toMatchObject(
    {
      stderr: expect.stringContaining('has no environment "constructor"') as string,
    },
  );
});
