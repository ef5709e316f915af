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
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2048);
    expect(text.replaceAll(type, "KvEntries")).toBe(forwarder("KvEntries"));
    expect(text.split(type)).toHaveLength(2);
  },
);

test("the forwarder's text matches its snapshot, because refresh and destroy run the text in the state", () => {
  expect(forwarder("PageShieldPolicy")).toMatchSnapshot();
});

/** Evaluates the text as the host does, in a process of its own that works in `folder` or below, and does `work` with it. */
function inHost(type: string, work: string, from = "."): unknown {
  const loader = require.resolve("require-from-string", { paths: [require.resolve("@pulumi/pulumi")] });
  const script = `
    const provider = require(${JSON.stringify(loader)})(${JSON.stringify(forwarder(type))}).handler();
    const detailsOf = (e) => ({ message: e.message, id: e.id, stack: e.stack, text: String(e) });
    (async () => { ${work} })().then((r) => console.log(JSON.stringify(r)), (e) => console.log(JSON.stringify({ error: detailsOf(e) })));`;
  const output = execFileSync(process.execPath, ["-e", script], {
    cwd: join(folder, from),
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
  manifest(at, members);
}

function manifest(at: string, members: object): void {
  writeFileSync(join(folder, at, "package.json"), JSON.stringify({ name: "any", ...members }));
}

/** Links a package from one folder into another, as pnpm and workspaces do. */
function link(from: string, to: string, name: string): void {
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
      message: `edgeguard: PageShieldPolicy needs the package pulumi-edgeguard, and neither ${folder} nor its dependencies have it. Add pulumi-edgeguard to the dependencies in its package.json and install them. In a bundle, also mark it as external.`,
      stack: "",
      text: expect.any(String) as string,
    },
  });
});

test("if the package is broken, the error gives the reason, and no other copy is tried", () => {
  install("throw new Error('half installed\\nat line 7')");
  pack("node_modules/company", { dependencies: { "pulumi-edgeguard": "1" } });
  install("exports.read = () => 'another copy'", "node_modules/company");
  manifest(".", { dependencies: { company: "1" } });
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

describe("a program that has the package only as a transitive dependency", () => {
  const found = (from = "."): unknown => inHost("KvEntries", "return await provider.read('id', {})", from);

  test("finds the package beside the component package that depends on it (pnpm)", () => {
    const store = "node_modules/.pnpm";
    pack(`${store}/company@1.0.0/node_modules/company`, { dependencies: { "pulumi-edgeguard": "^1" } });
    install("exports.read = () => 'of the company'", `${store}/pulumi-edgeguard@1.0.0`);
    link(
      `${store}/pulumi-edgeguard@1.0.0/node_modules`,
      `${store}/company@1.0.0/node_modules`,
      "pulumi-edgeguard",
    );
    link(`${store}/company@1.0.0/node_modules`, "node_modules", "company");
    manifest(".", { dependencies: { company: "^1" } });
    expect(found()).toBe("of the company");
  });

  test("finds the package through several packages, from a directory inside the program's package", () => {
    pack("node_modules/platform", { dependencies: { company: "^1" } });
    pack("node_modules/platform/node_modules/company", { dependencies: { "pulumi-edgeguard": "^1" } });
    install("exports.read = () => 'far down'", "node_modules/platform/node_modules/company");
    manifest(".", { dependencies: { platform: "^1" } });
    mkdirSync(join(folder, "src/infra"), { recursive: true });
    expect(found("src/infra")).toBe("far down");
  });

  test("finds the package from the real directory of a linked devDependency (workspaces)", () => {
    pack("packages/company", { peerDependencies: { "pulumi-edgeguard": "^1" } });
    install("exports.read = () => 'of the workspace'", "packages/company");
    pack("packages/infra", { devDependencies: { company: "workspace:*" } });
    link("packages", "packages/infra/node_modules", "company");
    expect(found("packages/infra")).toBe("of the workspace");
  });

  test("uses the version nearest to the program if there are several", () => {
    pack("node_modules/far", { dependencies: { further: "^1" } });
    pack("node_modules/far/node_modules/further", { dependencies: { "pulumi-edgeguard": "^1" } });
    install("exports.read = () => 'version 1'", "node_modules/far/node_modules/further");
    pack("node_modules/near", { dependencies: { "pulumi-edgeguard": "^2" } });
    install("exports.read = () => 'version 2'", "node_modules/near");
    manifest(".", { dependencies: { far: "^1", near: "^1" } });
    expect(found()).toBe("version 2");
  });

  test("finds the package despite dependency cycles, missing packages, built-in names and broken manifests", () => {
    pack("node_modules/one", { dependencies: { two: "^1" } });
    pack("node_modules/two", {
      dependencies: { one: "^1", buffer: "^6", gone: "^1", "pulumi-edgeguard": "^1" },
    });
    pack("node_modules/odd", {});
    writeFileSync(join(folder, "node_modules/odd/package.json"), "{");
    manifest(".", { dependencies: { odd: "^1", one: "^1", "../..": "^1", "": "^1" } });
    expect(found()).toMatchObject({
      error: { message: expect.stringContaining("Add pulumi-edgeguard to the dependencies") as string },
    });
    install("exports.read = () => 'of two'", "node_modules/two");
    expect(found()).toBe("of two");
  });
});
