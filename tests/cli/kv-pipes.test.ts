import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { devNull } from "node:os";
import { join } from "node:path";
import { Desk } from "./support";
import { testUnless } from "../support/skip";

/** Files that aren't regular, and content that a program can't read exactly. */

let desk: Desk;
beforeAll(async () => {
  desk = await Desk.set();
});
beforeEach(() => desk.api.reset());

test("bulk commands and key put refuse a pipe or device, which may never end, and bulk commands refuse standard input", async () => {
  const refused = {
    code: 1,
    stderr: expect.stringContaining("it is a pipe, socket or device, not a regular file") as string,
  };
  execFileSync("mkfifo", [join(desk.cwd, "pipe")]);
  for (const file of ["pipe", "/dev/zero"]) {
    for (const command of ["put", "get", "delete"])
      expect(await desk.here("kv", "bulk", command, file, "--binding", "EXISTING")).toMatchObject(refused);
  }
  const put = ["kv", "key", "put", "k", "--path", "/dev/zero", "--binding", "EXISTING"];
  expect(await desk.here(...put)).toMatchObject(refused);
  expect(await desk.here("kv", "bulk", "put", "-", "--binding", "EXISTING")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("it does not exist") as string,
  });
});

// Some containers have a regular file there, which holds what other processes wrote to it.
const IS_DEVICE = statSync(devNull).isCharacterDevice();
const WHY = IS_DEVICE ? undefined : "on this machine, /dev/null is not a device";
testUnless(WHY)("key put treats /dev/null as an empty value", async () => {
  const put = ["kv", "key", "put", "blank", "--path", "/dev/null", "--binding", "EXISTING"];
  expect(await desk.here(...put)).toMatchObject({ code: 0 });
  expect(await desk.value("blank")).toEqual(Buffer.alloc(0));
});

test("refuses metadata whose numbers would lose digits, and accepts __proto__ as a key", async () => {
  const metadata = '{"a":[{"id":9007199254740993}]}';
  const args = ["kv", "key", "put", "__proto__", "v", "--metadata", metadata, "--binding", "EXISTING"];
  expect(await desk.here(...args)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('metadata has a number ("id") that loses digits in JSON') as string,
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
