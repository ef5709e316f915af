import { transform } from "sucrase";
import { execFileSync, type ChildProcess } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  isolatedEnvironment,
  LOCAL_ENGINE,
  pulumiCli,
  runEngine,
  startEngine,
  type EngineCommand,
} from "edgeguard-local";
import { kindOf } from "../../provider/runtime/type-tokens";
import { REPOSITORY } from "./repository";

export { REPOSITORY };

/** Runs a Pulumi engine by its command line: always the local engine, and also the real CLI if one is on PATH. */

/** The Pulumi CLI, if there's one on this machine. EDGEGUARD_TEST_ENGINE=local leaves it out. */
export function cliEngine(): EngineCommand | undefined {
  return process.env["EDGEGUARD_TEST_ENGINE"] === "local" ? undefined : pulumiCli();
}

/** All engines on this machine. */
export function engines(): EngineCommand[] {
  const cli = cliEngine();
  return cli === undefined ? [LOCAL_ENGINE] : [LOCAL_ENGINE, cli];
}

/** For tests of what the local engine refuses. Without a Pulumi CLI, they're skipped, and the title says why. */
export function describeOnCli(title: string, tests: (cli: EngineCommand) => void): void {
  const cli = cliEngine();
  if (cli !== undefined) describe(`${title} on ${cli.name}`, () => tests(cli));
  // Skipped tests are declared, too, and run nothing.
  else
    describe.skip(`${title} on the Pulumi CLI (skipped: there's none on PATH, or it's turned off)`, () =>
      tests(LOCAL_ENGINE));
}

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Both streams in the order in which they were printed. */
  readonly text: string;
}

/** Makes dynamic provider hosts use the provider plugin. EDGEGUARD_TEST_PLUGIN=1 does this for every project. */
const THROUGH_PLUGIN = { NODE_OPTIONS: `--require ${join(__dirname, "through-plugin.js")}` };

const EMPTY_STACKS = new Map<string, { readonly settings: string; readonly state: string }>();
const FOLDERS: string[] = [];
const removeFolders = (): void => {
  for (const folder of FOLDERS.splice(0)) rmSync(folder, { recursive: true, force: true });
};
// Jest's process never emits "exit", and other programs have no hooks.
if (typeof afterAll === "function") afterAll(removeFolders);
else process.once("exit", removeFolders);

/** A new folder, which exists until the tests of the file end. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `edgeguard-${name}-`));
  FOLDERS.push(folder);
  return folder;
}

const PROJECT_FILE = `name: NAME
runtime:
  name: nodejs
  options:
    typescript: false
`;

/** Settings that are never written in plain text. */
const SECRET = /^edgeguard:api(Token|Key|Email)$/;

/** A project in its own directory, with its own stack, state and settings. It touches nothing else on the machine. */
export class Project {
  readonly dir: string;
  readonly #home: string;
  env: Record<string, string> = {};

  /** @param throughPlugin whether the provider plugin does the work of the dynamic provider host. */
  constructor(
    readonly engine: EngineCommand,
    readonly name: string,
    readonly throughPlugin = process.env["EDGEGUARD_TEST_PLUGIN"] === "1",
  ) {
    this.#home = temporaryFolder("project");
    this.dir = join(this.#home, "project");
    mkdirSync(this.dir);
    mkdirSync(join(this.#home, "state"));
    symlinkSync(join(REPOSITORY, "node_modules"), join(this.dir, "node_modules"));
    writeFileSync(join(this.dir, "Pulumi.yaml"), PROJECT_FILE.replace("NAME", name));
    writeFileSync(join(this.dir, "package.json"), JSON.stringify({ name, private: true, main: "index.js" }));
  }

  /** Copies a directory into the project, as a user copies an example, and uses packages installed elsewhere. */
  copy(folder: string, modules: string): void {
    rmSync(this.dir, { recursive: true });
    cpSync(folder, this.dir, { recursive: true });
    symlinkSync(modules, join(this.dir, "node_modules"));
  }

  /** Uses a directory's index.ts as the project's program. */
  program(folder: string): void {
    this.write(readFileSync(join(folder, "index.ts"), "utf8"));
  }

  /** Uses TypeScript text as the project's program, and compiles it once instead of in every run. */
  write(program: string): void {
    const { code } = transform(program, {
      transforms: ["typescript", "imports"],
      disableESTransforms: true,
    });
    writeFileSync(join(this.dir, "index.js"), code);
  }

  /** Runs a command until it exits. The local engine runs in this process, which saves 20% of the time. */
  async run(...args: readonly string[]): Promise<RunResult> {
    if (this.engine !== LOCAL_ENGINE) return finished(this.start(...args));
    const printed = { stdout: "", stderr: "", text: "" };
    const sink = (stream: "stdout" | "stderr") => ({
      write(text: string) {
        printed[stream] += text;
        printed.text += text;
      },
    });
    const code = await runEngine([...args, "--non-interactive", "--cwd", this.dir], {
      cwd: this.dir,
      env: this.environment(),
      stdout: sink("stdout"),
      stderr: sink("stderr"),
    });
    return { code, ...printed };
  }

  /** Runs a command that has to succeed. If it fails, the error contains its output. */
  async ok(...args: readonly string[]): Promise<RunResult> {
    const result = await this.run(...args);
    if (result.code !== 0)
      throw new Error(`${this.engine.name}: ${args.join(" ")} ended with ${result.code}:\n${result.text}`);
    return result;
  }

  /** Runs a command in a separate process, which a test can kill. */
  start(...args: readonly string[]): ChildProcess {
    return startEngine(this.engine, args, { cwd: this.dir, env: this.environment() });
  }

  /** The engine's environment variables. */
  environment(): Record<string, string> {
    return {
      ...isolatedEnvironment(this.#home),
      PULUMI_STACK: "dev",
      NO_COLOR: "1",
      ...(this.throughPlugin ? THROUGH_PLUGIN : {}),
      ...this.env,
    };
  }

  /** Creates a stack and writes its plain-text settings to the file, since only secrets need a run of the engine. */
  async init(config: Readonly<Record<string, string>>): Promise<void> {
    await this.#initStack();
    const plain = Object.entries(config).filter(([key]) => !SECRET.test(key));
    const lines = plain.map(
      ([key, value]) => `  ${key.includes(":") ? key : `${this.name}:${key}`}: ${JSON.stringify(value)}\n`,
    );
    appendFileSync(join(this.dir, "Pulumi.dev.yaml"), `config:\n${lines.join("")}`);
    for (const [key, value] of Object.entries(config)) {
      if (SECRET.test(key)) await this.ok("config", "set", "--secret", key, value);
    }
  }

  /** Creates an empty stack. The engine creates only the first one of each kind; the others are copies. */
  async #initStack(): Promise<void> {
    const kind = `${this.engine.name} ${this.name}`;
    const settings = join(this.dir, "Pulumi.dev.yaml");
    const state = join(this.#home, "state");
    const made = EMPTY_STACKS.get(kind);
    if (made !== undefined) {
      writeFileSync(settings, made.settings);
      cpSync(made.state, state, { recursive: true });
      return;
    }
    await this.ok("stack", "init", "dev");
    const kept = temporaryFolder("stack");
    cpSync(state, kept, { recursive: true });
    EMPTY_STACKS.set(kind, { settings: readFileSync(settings, "utf8"), state: kept });
  }

  /** The deployment, with its secrets encrypted. */
  async export(): Promise<Deployment> {
    const { stdout } = await this.ok("stack", "export");
    return JSON.parse(stdout) as Deployment; // Each test checks the parts that it needs.
  }

  /** Makes the last write of entries look older by so many seconds. */
  async age(seconds: number): Promise<void> {
    const text = JSON.stringify(await this.export());
    const file = join(this.#home, "aged.json");
    writeFileSync(
      file,
      text.replace(/"writtenAt":([\d.]+)/g, (_, at: string) => `"writtenAt":${Number(at) - seconds}`),
    );
    await this.ok("stack", "import", "--file", file);
  }

  /** Everything that the engine has written for this project. */
  stateText(): string {
    const text: string[] = [];
    for (const file of execFileSync(
      "find",
      [join(this.#home, "state"), this.dir, "-type", "f", "-not", "-path", "*/node_modules/*"],
      { encoding: "utf8" },
    ).split("\n")) {
      if (file !== "") text.push(readFileSync(file, "utf8"));
    }
    return text.join("\n");
  }

  remove(): void {
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** Tests that all runs recorded the same state, if several engines or modes ran the scenario. */
export function itAgrees(recorded: ReadonlyMap<string, unknown>, hasOthers = false): void {
  if (engines().length < 2 && !hasOthers) return;
  it("every engine and mode ends with the same state", () => {
    const [first, ...others] = [...recorded.values()];
    expect(first).toBeDefined();
    for (const other of others) expect(other).toEqual(first);
  });
}

export interface ResourceState {
  readonly urn: string;
  readonly type: string;
  readonly id?: string;
  readonly inputs?: Record<string, unknown>;
  readonly outputs?: Record<string, unknown>;
  readonly delete?: boolean;
  readonly initErrors?: readonly string[];
}

export interface Deployment {
  readonly version: number;
  readonly deployment: {
    readonly resources?: readonly ResourceState[];
    readonly pending_operations?: readonly unknown[];
  };
}

/** This provider's resources by class and name, because resources of different types can have the same name. */
export function edgeguardResources(state: Deployment): ReadonlyMap<string, ResourceState> {
  return new Map(
    (state.deployment.resources ?? []).flatMap((r): [string, ResourceState][] => {
      const kind = kindOf(r.type);
      return kind === undefined ? [] : [[`${kind}::${r.urn.split("::").at(-1) ?? ""}`, r]];
    }),
  );
}

export function finished(child: ChildProcess): Promise<RunResult> {
  return new Promise((done, fail) => {
    let stdout = "";
    let stderr = "";
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      stdout += chunk;
      text += chunk;
    });
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk;
      text += chunk;
    });
    child.on("error", fail);
    child.on("close", (code, signal) =>
      done({ code: code ?? (signal === null ? 1 : 128), stdout, stderr, text }),
    );
  });
}

/** The counts in the final summary, by operation, such as `{ create: 2, unchanged: 1 }`. */
export function summaryOf(text: string): Record<string, number> {
  const counts: Record<string, number> = {};
  const verbs: Readonly<Record<string, string>> = {
    "to create": "create",
    created: "create",
    "to update": "update",
    updated: "update",
    "to delete": "delete",
    deleted: "delete",
    "to replace": "replace",
    replaced: "replace",
    unchanged: "unchanged",
    errored: "errored",
    "to import": "import",
    imported: "import",
  };
  const block = /^Resources:[^\n]*\n((?:[ \t]+[^\n]*\n?)*)/m.exec(text)?.[1] ?? "";
  for (const line of block.split("\n")) {
    const [, count, words = ""] =
      /^\s*(?:[+~=-]{1,2}\s*|\d+ changes?\. )?(\d+) ([a-z ]+?)\.?\s*$/.exec(line) ?? [];
    const verb = verbs[words];
    if (count !== undefined && verb !== undefined) counts[verb] = Number(count);
  }
  return counts;
}
