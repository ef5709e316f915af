import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forwarder } from "../../provider/runtime/forwarder";
import { TYPES } from "../soak/program";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "edgeguard-forwarder-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each(TYPES)("the text for %s is small, and differs from the others only by the type's name", (type) => {
  const text = forwarder(type);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2048);
  expect(text.replaceAll(type, "KvEntries")).toBe(forwarder("KvEntries"));
  expect(text.split(type)).toHaveLength(2);
});

test("the text never changes: state files contain it, and a change would show on every resource", () => {
  expect(forwarder("PageShieldPolicy")).toMatchSnapshot();
});

/** Evaluates the text as the host does, in a process of its own that works in `folder`, and does `work` with it. */
function inHost(type: string, work: string): unknown {
  const loader = require.resolve("require-from-string", { paths: [require.resolve("@pulumi/pulumi")] });
  const script = `
    const provider = require(${JSON.stringify(loader)})(${JSON.stringify(forwarder(type))}).handler();
    const detailsOf = (e) => ({ message: e.message, id: e.id, stack: e.stack, text: String(e) });
    (async () => { ${work} })().then((r) => console.log(JSON.stringify(r)), (e) => console.log(JSON.stringify({ error: detailsOf(e) })));`;
  const output = execFileSync(process.execPath, ["-e", script], { cwd: folder, encoding: "utf8" });
  return JSON.parse(output.trim());
}

function install(source: string): void {
  const target = join(folder, "node_modules/pulumi-edgeguard");
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, "runtime.js"), source);
}

test("passes every verb on with the type's name first, and returns its result", () => {
  const verbs = ["configure", "check", "diff", "create", "read", "update", "delete"];
  install(verbs.map((verb) => `exports.${verb} = (...args) => ({ verb: "${verb}", args });`).join("\n"));
  expect(
    inHost(
      "KvEntries",
      `return [provider.configure("req"), await provider.check(1, 2), await provider.diff("id", 1, 2), await provider.create(1),
               await provider.read("id", 1), await provider.update("id", 1, 2), await provider.delete("id", 1)];`,
    ),
  ).toEqual([
    { verb: "configure", args: ["KvEntries", "req"] },
    { verb: "check", args: ["KvEntries", 1, 2] },
    { verb: "diff", args: ["KvEntries", "id", 1, 2] },
    { verb: "create", args: ["KvEntries", 1] },
    { verb: "read", args: ["KvEntries", "id", 1] },
    { verb: "update", args: ["KvEntries", "id", 1, 2] },
    { verb: "delete", args: ["KvEntries", "id", 1] },
  ]);
});

test("configure returns at once: the engine doesn't wait for it either", () => {
  install("exports.configure = () => 'at once';");
  expect(inHost("KvEntries", "return typeof provider.configure({}).then")).toBe("undefined");
});

test("if the package is missing, the error says where and what to do, in one sentence", () => {
  expect(inHost("PageShieldPolicy", "return await provider.create({})")).toEqual({
    error: {
      message: expect.stringMatching(
        /^edgeguard: PageShieldPolicy needs the package pulumi-edgeguard, which cannot be loaded from .*: run npm install in that directory .* Reason: Cannot find module 'pulumi-edgeguard\/runtime'$/,
      ) as string,
      stack: "",
      text: expect.any(String) as string,
    },
  });
});

test("if the package is broken, the error gives the reason", () => {
  install("throw new Error('half installed\\nat line 7')");
  expect(inHost("PageShieldPolicy", "return await provider.read('id', {})")).toMatchObject({
    error: { message: expect.stringMatching(/Reason: half installed$/) as string },
  });
});
