import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forwarder } from "../../provider/runtime/forwarder";
import { TYPES } from "../soak/program";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "edgeguard-forwarder-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each(TYPES)(
  "the forwarder's text for %s is small, and differs from the others only in the type's name",
  (type) => {
    const text = forwarder(type);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1280);
    expect(text.replaceAll(type, "KvEntries")).toBe(forwarder("KvEntries"));
    expect(text.split(type)).toHaveLength(2);
  },
);

test("the forwarder's text matches its snapshot, because refresh and destroy run the text in the state", () => {
  expect(forwarder("PageShieldPolicy")).toMatchSnapshot();
});

/** Evaluates the text as the host does, in a process of its own that works in `folder` or below, and does `work` with it. */
function inHost(type: string, work: string): unknown {
  const loader = require.resolve("require-from-string", { paths: [require.resolve("@pulumi/pulumi")] });
  const script = `
    const provider = require(${JSON.stringify(loader)})(${JSON.stringify(forwarder(type))}).handler();
    const detailsOf = (e) => ({ message: e.message, id: e.id, stack: e.stack, text: String(e) });
    (async () => { ${work} })().then((r) => console.log(JSON.stringify(r)), (e) => console.log(JSON.stringify({ error: detailsOf(e) })));`;
  const output = execFileSync(process.execPath, ["-e", script], {
    cwd: folder,
    encoding: "utf8",
  });
  return JSON.parse(output.trim());
}

function install(source: string, below = "."): void {
  const target = join(folder, below, "node_modules/pulumi-edgeguard");
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, "runtime.js"), source);
}

/** A package's folder, with its package.json. */
function pack(at: string, members: object): void {
  mkdirSync(join(folder, at), { recursive: true });
  writeFileSync(join(folder, at, "package.json"), JSON.stringify({ name: "any", ...members }));
}

/** Links a package from one folder into another, as pnpm does. */
function link(from: string, to: string, name = "pulumi-edgeguard"): void {
  mkdirSync(join(folder, to), { recursive: true });
  symlinkSync(join(folder, from, name), join(folder, to, name));
}

test("forwards every provider method with the type's name first, and returns the result", () => {
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

test("configure returns at once, because the engine doesn't wait for it", () => {
  install("exports.configure = () => 'at once';");
  expect(inHost("KvEntries", "return typeof provider.configure({}).then")).toBe("undefined");
});

test("if the package is missing, the error names the directory, what to add, and what a bundle needs", () => {
  expect(inHost("PageShieldPolicy", "return await provider.create({})")).toEqual({
    error: {
      message: `edgeguard: PageShieldPolicy needs the package pulumi-edgeguard, which can't be found from ${folder}. Add pulumi-edgeguard to the program's own dependencies and install them. With pnpm, adding it to publicHoistPattern works, too. In a bundle, also mark it as external.`,
      stack: "",
      text: expect.any(String) as string,
    },
  });
});

test("if the package is broken, the error gives the reason", () => {
  install("throw new Error('half installed\\nat line 7')");
  expect(inHost("PageShieldPolicy", "return await provider.read('id', {})")).toMatchObject({
    error: {
      message: `edgeguard: PageShieldPolicy needs the package pulumi-edgeguard, which can't be loaded: half installed. Install the dependencies in ${folder} again; build the package if it's linked from source.`,
    },
  });
});

test("if the package isn't built, the error says to build it", () => {
  pack("node_modules/pulumi-edgeguard", { exports: { "./runtime": "./dist/register.js" } });
  expect(inHost("PageShieldPolicy", "return await provider.read('id', {})")).toMatchObject({
    error: {
      message: expect.stringMatching(
        /which can't be loaded: Cannot find module '.*dist\/register\.js'\. .*build the package if it's linked from source\.$/,
      ) as string,
    },
  });
});

describe("a program that has the package only through a component package", () => {
  const read = (): unknown => inHost("KvEntries", "return await provider.read('id', {})");
  const store = "node_modules/.pnpm";
  beforeEach(() => {
    pack(`${store}/company@1.0.0/node_modules/company`, { dependencies: { "pulumi-edgeguard": "^1" } });
    install("exports.read = () => 'found'", `${store}/pulumi-edgeguard@1.0.0`);
    link(`${store}/pulumi-edgeguard@1.0.0/node_modules`, `${store}/company@1.0.0/node_modules`);
    link(`${store}/company@1.0.0/node_modules`, "node_modules", "company");
  });

  test("gets an error with both remedies (pnpm)", () => {
    expect(read()).toMatchObject({
      error: { message: expect.stringMatching(/own dependencies .*publicHoistPattern works, too/) as string },
    });
  });

  test("finds the package once it's a dependency of the program or hoisted", () => {
    link(`${store}/pulumi-edgeguard@1.0.0/node_modules`, "node_modules");
    expect(read()).toBe("found");
  });
});
