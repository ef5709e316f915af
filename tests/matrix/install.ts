import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { transform } from "sucrase";
import { isolatedEnvironment } from "edgeguard-local";
import { z } from "zod";
import { REPOSITORY } from "../support/repository";
import { USUAL, type Manager, type Row } from "./rows";

/** Projects as their users install them: from the packed packages and the registry, with a package manager and a Node.js. */

const run = promisify(execFile);

const PLATFORM = `${process.platform}-${process.arch}`;

/** Everything that a run of the matrix leaves on this machine. */
export interface Workshop {
  readonly home: string;
  /** Where the two packages are packed. */
  readonly packages: Readonly<Record<string, string>>;
  /** The folder of a tool, by its package and version. */
  readonly tools: Map<string, Promise<string>>;
}

export interface Installed {
  readonly row: Row;
  readonly directory: string;
  /** The local engine's command. */
  readonly localEngine: readonly string[];
  /** Runs a command in the project to its end, with an engine's state in `home`. */
  readonly exec: (home: string, ...command: readonly string[]) => Promise<void>;
}

/** Packs both packages as they are built. */
export async function openWorkshop(home: string): Promise<Workshop> {
  const pack = ["pack", "--workspaces", "--pack-destination", home, "--ignore-scripts"];
  await run("npm", pack, { cwd: REPOSITORY });
  const packages = Object.fromEntries(
    readdirSync(home)
      .filter((file) => file.endsWith(".tgz"))
      .map((file) => [file.replace(/-\d.*$/, ""), join(home, file)]),
  );
  return { home, packages, tools: new Map() };
}

/** A package from the registry whose command is used, not a program's dependency. */
function tool(workshop: Workshop, name: string, version: string): Promise<string> {
  const key = `${name}@${version}`;
  const known = workshop.tools.get(key) ?? download(workshop, name, key);
  workshop.tools.set(key, known);
  return known;
}

async function download(workshop: Workshop, name: string, key: string): Promise<string> {
  const folder = join(workshop.home, "tools", key.replace("/", "-"));
  mkdirSync(folder, { recursive: true });
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts"];
  await run("npm", ["install", "--prefix", folder, ...quiet, key], { cwd: folder });
  return join(folder, "node_modules", name);
}

/** The command of a package manager. */
async function managerCommand(
  workshop: Workshop,
  [manager, version]: readonly [Manager, string],
): Promise<string[]> {
  switch (manager) {
    case "npm":
      return ["node", join(await tool(workshop, "npm", version), "bin/npm-cli.js")];
    case "yarn":
      return ["node", join(await tool(workshop, "@yarnpkg/cli-dist", version), "bin/yarn.js")];
    case "pnpm":
      return [join(await tool(workshop, `@pnpm/exe.${PLATFORM}`, version), "pnpm")];
    case "bun":
      return [join(await tool(workshop, `@oven/bun-${PLATFORM}`, version), "bin/bun")];
  }
}

export async function install(workshop: Workshop, row: Row, directory: string): Promise<Installed> {
  writeProject(row, directory, workshop.packages);
  const node = join(await tool(workshop, `node-${PLATFORM}`, row.node ?? USUAL.node), "bin");
  const [manager = "", ...before] = await managerCommand(workshop, row.manager ?? USUAL.manager);
  // bun is also a program's runtime; npm and Yarn are files that Node.js runs.
  const commands = isAbsolute(manager) ? [node, dirname(manager)] : [node];
  // What pnpm, Yarn and bun keep for all projects of a user stays in the workshop.
  const user = {
    XDG_DATA_HOME: join(workshop.home, "data"),
    YARN_GLOBAL_FOLDER: join(workshop.home, "yarn"),
    YARN_ENABLE_TELEMETRY: "0",
    BUN_INSTALL_CACHE_DIR: join(workshop.home, "bun"),
  };
  const env = { ...environment(row, workshop.home, commands), ...user };
  await execute([manager, ...before, "install"], directory, env);
  const installed = inFolder(row, directory, commands, user);
  const localEngine = [manager, ...before, "run", "edgeguard-local"];
  return row.plugAndPlay === true ? { ...installed, localEngine } : installed;
}

/** A project whose packages are in place. */
export function inFolder(
  row: Row,
  directory: string,
  commands: readonly string[] = [],
  user: Readonly<Record<string, string>> = {},
): Installed {
  return {
    row,
    directory,
    localEngine: [join(directory, "node_modules/.bin/edgeguard-local")],
    exec: (home, ...command) =>
      execute(command, directory, {
        ...environment(row, home, commands),
        ...user,
        ...(row.plugAndPlay === true && { NODE_OPTIONS: `--require ${join(directory, ".pnp.cjs")}` }),
      }),
  };
}

function environment(row: Row, home: string, commands: readonly string[]): Record<string, string> {
  const isolated = isolatedEnvironment(home);
  return {
    ...isolated,
    PATH: [...commands, isolated["PATH"] ?? ""].join(delimiter),
    PULUMI_STACK: "dev",
    CLOUDFLARE_API_TOKEN: "local-token",
    NO_COLOR: "1",
    // Only the rows of compilers check types: that takes longer than all else that a run does.
    ...(row.compiles !== true && { PULUMI_NODEJS_TRANSPILE_ONLY: "true" }),
  };
}

const printed = z.object({ stdout: z.string(), stderr: z.string() });

async function execute(
  [command = "", ...args]: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  try {
    await run(command, args, { cwd, env });
  } catch (error) {
    const { data } = printed.safeParse(error);
    const why = data === undefined ? String(error) : data.stdout + data.stderr;
    throw new Error(`${[command, ...args].join(" ")}:\n${why}`, { cause: error });
  }
}

/** Writes everything but the packages: `tarballs` are the ones that the registry doesn't have. */
export function writeProject(
  row: Row,
  directory: string,
  tarballs: Readonly<Record<string, string>> = {},
): void {
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), text);
  };
  const packages: Readonly<Record<string, string | undefined>> = { ...USUAL.packages, ...row.packages };
  const packed = Object.fromEntries(
    Object.entries(tarballs).map(([name, tarball]) => [name, `file:${tarball}`]),
  );
  const { "pulumi-edgeguard": provider, ...others } = packed;
  if (row.program === "component") {
    const peerDependencies = { "@pulumi/pulumi": "*" };
    const dependencies = { "pulumi-edgeguard": provider };
    const component = { name: COMPONENT, version: "1.0.0", dependencies, peerDependencies };
    write("component/package.json", JSON.stringify(component));
  }
  const own = row.program === "component" ? { ...others, [COMPONENT]: "file:./component" } : packed;
  const manifest = {
    name: "matrix",
    private: true,
    ...row.manifest,
    dependencies: { ...packages, ...own },
  };
  write("package.json", JSON.stringify(manifest));
  write("Pulumi.yaml", JSON.stringify({ name: "matrix", runtime: row.runtime ?? "nodejs" }));
  writeProgram(row, write);
  for (const [file, text] of Object.entries(row.files ?? {})) write(file, text);
}

/** A company's package, which uses ours for its programs. */
const COMPONENT = "@company/edge";

const TSCONFIG = JSON.stringify({
  compilerOptions: {
    strict: true,
    target: "es2022",
    module: "node16",
    moduleResolution: "node16",
    types: ["node"],
    skipLibCheck: true,
  },
  files: ["index.ts"],
});

function writeProgram(
  { program = "typescript", unitTest }: Row,
  write: (file: string, text: string) => void,
): void {
  const source = (file: string): string => readFileSync(join(__dirname, "program", file), "utf8");
  const commonJs = (text: string): string =>
    transform(text, { transforms: ["typescript", "imports"], disableESTransforms: true }).code;
  if (unitTest !== undefined) {
    const text = source("unit-test.ts").replace("node:test", unitTest.module);
    // vitest's own module can't be required.
    if (unitTest.module === "vitest") write("unit.test.ts", text);
    else write("unit.test.js", commonJs(text));
  } else if (program === "component") {
    write("component/index.js", commonJs(source("component.ts")));
    write("index.js", `const { Shop } = require("${COMPONENT}");\nnew Shop("shop");\n`);
  } else if (program === "typescript") {
    write("index.ts", source("index.ts"));
    write("tsconfig.json", TSCONFIG);
  } else if (program === "automation") write("index.js", commonJs(source("automation.ts")));
  else write("index.js", program === "module" ? source("index.ts") : commonJs(source("index.ts")));
}
