import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LOCAL_ENGINE } from "edgeguard-local";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { zoneParts } from "../../provider/plugin";
import { apiPerFile, folderPerFile } from "../support/bench";
import { cliEngine, REPOSITORY, summaryOf } from "../support/engine";
import { isWrite } from "../support/is-write";
import { TOKEN } from "../support/scenario";
import { testUnless } from "../support/skip";
import { LANGUAGES } from "../surface/examples/languages";
import { examplesOf, SCHEMA } from "../surface/examples/program";
import { PLUGIN_SCHEMA } from "../surface/plugin-schema";
import { addJavaSdk, generateSdk, missingFor, PluginProject } from "./project";

/** The examples in the plugin's schema: each compiled in its language, and all previewed as one program. */

const EXAMPLES = examplesOf(SCHEMA.parse(JSON.parse(readFileSync(PLUGIN_SCHEMA, "utf8"))));
const NAMES = [...EXAMPLES.keys()];
const OUTPUTS = [...EXAMPLES.values()].flatMap(({ call }) => (call ? [call.name] : [])).sort();
const CANARY = "c4nary-of-a-destination";

const api = apiPerFile();
const FOLDER = folderPerFile("examples");
const cli = cliEngine() ?? LOCAL_ENGINE;
let project: PluginProject;

beforeEach(() => {
  project = new PluginProject(cli, "examples");
  project.env = { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_ACCOUNT_ID: api.accounts.main };
});
afterEach(() => project.remove());

function write(path: string, text: string): void {
  const file = join(project.dir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { cwd: project.dir, encoding: "utf8", stdio: "pipe" });
}

const programs = (language: string): (readonly [name: string, text: string])[] =>
  [...EXAMPLES].map(([name, example]) => [name, LANGUAGES[language]?.(example) ?? ""]);

/** Previews the project's program, which has all resources and outputs. */
async function previewAll(): Promise<void> {
  const { shop, empty, migratePro } = api.zones;
  const { pageShield, pageShieldDetected } = api.snapshot();
  const [policyId = ""] = pageShield[shop]?.policies.map(({ id }) => id) ?? [];
  const { scripts = [], connections = [], cookies = [] } = pageShieldDetected[shop] ?? {};
  const idOf = ([first]: readonly { readonly id: string }[]): string => first?.id ?? "";
  await project.init({
    "edgeguard:baseUrl": api.url,
    zoneId: shop,
    shopZoneId: empty,
    oldZoneId: migratePro,
    namespaceId: api.namespaces.existing,
    policyId,
    scriptId: idOf(scripts),
    connectionId: idOf(connections),
    cookieId: idOf(cookies),
  });
  await project.ok(
    "config",
    "set",
    "--secret",
    "destination",
    `https://logs.example.com/in?header_Token=${CANARY}`,
  );
  api.clearRequests();
  const { text } = await project.ok("preview");
  const resources = [...EXAMPLES.values()].flatMap((each) => each.resources);
  const inComponent = zoneParts("", {});
  expect(summaryOf(text)).toEqual({ create: resources.length + inComponent.length + 1 }); // And the stack.
  const outputs = text.slice(text.indexOf("\nOutputs:"), text.indexOf("\nResources:"));
  expect([...outputs.matchAll(/^ {4}(\w+) *:/gm)].map(([, name]) => name).sort()).toEqual(OUTPUTS);
  expect(text).not.toContain(CANARY);
  expect(api.requests.filter(isWrite)).toEqual([]);
}

testUnless(missingFor("yaml"))("the examples in YAML preview without errors", async () => {
  const part = z.record(z.string(), z.unknown());
  const all: Record<string, z.infer<typeof part>> = {};
  for (const [, text] of programs("yaml"))
    for (const [key, members] of Object.entries(z.record(z.string(), part).parse(parse(text))))
      all[key] = { ...all[key], ...members };
  project.yaml(stringify(all));
  await previewAll();
});

testUnless(missingFor("nodejs"))(
  "the examples in TypeScript compile and preview without errors",
  async () => {
    generateSdk(cli, FOLDER, { PULUMI_HOME: FOLDER, PULUMI_SKIP_UPDATE_CHECK: "1" });
    symlinkSync(join(FOLDER, "nodejs/bin"), join(project.dir, "sdk"));
    for (const [name, text] of programs("typescript"))
      write(`${name}.ts`, text.replace('"pulumi-edgeguard-sdk"', '"./sdk"'));
    const options = [
      "--strict",
      "--target",
      "es2022",
      "--module",
      "node16",
      "--types",
      "node",
      "--skipLibCheck",
    ];
    run(
      process.execPath,
      join(REPOSITORY, "node_modules/typescript/bin/tsc"),
      ...options,
      ...NAMES.map((name) => `${name}.ts`),
    );
    write(
      "index.js",
      `module.exports = Object.assign({}, ${NAMES.map((name) => `require("./${name}")`).join(", ")});\n`,
    );
    await previewAll();
  },
);

testUnless(missingFor("python", "python3"))(
  "the examples in Python pass a strict type checker and preview without errors",
  async () => {
    project.copy(join(REPOSITORY, "examples/python"), join(REPOSITORY, "node_modules"));
    write(
      "Pulumi.yaml",
      readFileSync(join(project.dir, "Pulumi.yaml"), "utf8").replace("name: python", "name: examples"),
    );
    for (const [name, text] of programs("python")) write(`${name}.py`, text);
    write("__main__.py", NAMES.map((name) => `import ${name}\n`).join(""));
    await project.ok("install");
    run("venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "mypy");
    const checked = run("venv/bin/python", "-m", "mypy", "--strict", ...NAMES.map((name) => `${name}.py`));
    expect(checked).toContain(`no issues found in ${NAMES.length} source files`);
    await previewAll();
  },
);

testUnless(missingFor("go", "go", "gofmt"))(
  "the examples in Go are formatted, compile and preview without errors",
  async () => {
    rmSync(project.dir, { recursive: true });
    mkdirSync(project.dir);
    symlinkSync(join(REPOSITORY, "node_modules"), join(project.dir, "node_modules"));
    write("Pulumi.yaml", "name: examples\nruntime: go\n");
    write("go.mod", "module examples\n\ngo 1.25\n");
    write("main.go", "package main\n\nfunc main() {}\n");
    await project.ok("package", "add", "./node_modules/pulumi-resource-edgeguard");
    const called = NAMES.map((name) => name.toLowerCase());
    for (const [name, text] of programs("go")) {
      write(`programs/${name}/main.go`, `${text}\n`);
      // As a function of one program.
      const inner = text
        .replace("package main", `package ${name.toLowerCase()}`)
        .replace(/\t\}\)\n\}$/, "\t}\n}");
      const start = "func main() {\n\tpulumi.Run(func(ctx *pulumi.Context) error {";
      write(
        `parts/${name.toLowerCase()}/part.go`,
        inner.replace(start, "func Run(ctx *pulumi.Context) error {\n\t{"),
      );
    }
    expect(run("gofmt", "-l", "programs")).toBe("");
    const imports = called.map((name) => `\t"examples/parts/${name}"\n`).join("");
    const calls = called
      .map((name) => `\t\tif err := ${name}.Run(ctx); err != nil {\n\t\t\treturn err\n\t\t}\n`)
      .join("");
    write(
      "main.go",
      `package main\n\nimport (\n\t"github.com/pulumi/pulumi/sdk/v3/go/pulumi"\n${imports})\n\nfunc main() {\n\tpulumi.Run(func(ctx *pulumi.Context) error {\n${calls}\t\treturn nil\n\t})\n}\n`,
    );
    run("go", "get", "github.com/pulumi/pulumi/sdk/v3@v3.260.0"); // The newest asks for the newest Go.
    run("go", "mod", "tidy");
    run("go", "vet", "./...");
    await previewAll();
  },
  900_000,
);

testUnless(missingFor("java", "mvn"))(
  "the examples in Java compile and preview without errors",
  async () => {
    await addJavaSdk(project);
    const called = NAMES.map((name) => `example.${name.toLowerCase()}`);
    for (const [at, [, text]] of programs("java").entries())
      write(`src/main/java/${called[at]?.replace(".", "/")}/App.java`, `package ${called[at]};\n${text}\n`);
    const calls = called.map((name) => `            ${name}.App.stack(ctx);\n`).join("");
    write(
      "src/main/java/example/App.java",
      `package example;\n\npublic class App {\n    public static void main(String[] args) {\n        com.pulumi.Pulumi.run(ctx -> {\n${calls}        });\n    }\n}\n`,
    );
    await previewAll();
  },
  900_000,
);

testUnless(hasJavac() ? undefined : "no javac on PATH")(
  "the examples in Java have no mistake but the types of an SDK that isn't there",
  () => {
    for (const [name, text] of programs("java")) write(`${name}/App.java`, `package ${name};\n${text}\n`);
    const files = NAMES.map((name) => `${name}/App.java`);
    const { stderr } = spawnSync("javac", ["-Xmaxerrs", "9999", "-d", "out", ...files], {
      cwd: project.dir,
      encoding: "utf8",
    });
    const errors = stderr.split("\n").filter((line) => line.includes(": error: "));
    expect(errors.length).toBeGreaterThan(NAMES.length);
    expect(
      errors.filter((line) => !/: error: (cannot find symbol|package \S+ does not exist)$/.test(line)),
    ).toEqual([]);
  },
);

function hasJavac(): boolean {
  return spawnSync("javac", ["-version"]).status === 0;
}
