/** A project in a temporary folder, with the program from fixture/. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { z } from "zod";
import { runEngine } from "edgeguard-local";

const ROOT = path.resolve(__dirname, "../..");

/** The built command line, for tests that need a separate process. */
export const CLI = path.join(ROOT, "local/dist/engine/cli.js");

export interface Resource {
  readonly type?: "Thing" | "Plain" | "Group";
  readonly args?: Readonly<Record<string, unknown>>;
  readonly opts?: Readonly<Record<string, unknown>>;
}

export interface ProgramSpec {
  readonly resources?: Readonly<Record<string, Resource>>;
  readonly outputs?: Readonly<Record<string, unknown>>;
  readonly throws?: boolean;
  readonly prints?: string;
  readonly uses?: string;
}

export interface Result {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

const properties = z.record(z.string(), z.json()).default({});
const resourceSchema = z.looseObject({
  urn: z.string(),
  type: z.string(),
  id: z.string().default(""),
  inputs: properties,
  outputs: properties,
});
export type WrittenResource = z.infer<typeof resourceSchema>;

const exportSchema = z.object({
  version: z.literal(3),
  deployment: z.looseObject({
    resources: z.array(resourceSchema).default([]),
    pending_operations: z.array(z.object({ type: z.string(), resource: resourceSchema })).default([]),
  }),
});

const digestSchema = z.object({
  config: z.record(z.string(), z.string()).optional(),
  steps: z
    .array(
      z.looseObject({
        op: z.string(),
        urn: z.string(),
        oldState: resourceSchema.optional(),
        newState: resourceSchema.optional(),
        diffReasons: z.array(z.string()).optional(),
        replaceReasons: z.array(z.string()).optional(),
        detailedDiff: z.record(z.string(), z.object({ kind: z.string(), inputDiff: z.boolean() })).nullable(),
      }),
    )
    .default([]),
  diagnostics: z
    .array(z.object({ urn: z.string().optional(), message: z.string(), severity: z.string() }))
    .default([]),
  duration: z.number(),
  changeSummary: z.record(z.string(), z.number()).default({}),
});
export type Digest = z.infer<typeof digestSchema> & { readonly exitCode: number };

export class TestStack {
  readonly env: NodeJS.ProcessEnv;

  private constructor(readonly directory: string) {
    this.env = {
      PATH: process.env["PATH"],
      HOME: directory,
      PULUMI_HOME: path.join(directory, "home"),
      PULUMI_BACKEND_URL: `file://${path.join(directory, "state")}`,
      PULUMI_CONFIG_PASSPHRASE: "correct horse",
    };
  }

  static async create(program: ProgramSpec = {}): Promise<TestStack> {
    const directory = mkdtempSync(path.join(tmpdir(), "local-engine-"));
    cpSync(path.join(__dirname, "fixture"), directory, { recursive: true });
    symlinkSync(path.join(ROOT, "node_modules"), path.join(directory, "node_modules"));
    for (const name of ["state", "home", "objects"]) mkdirSync(path.join(directory, name));
    const stack = new TestStack(directory);
    stack.setProgram(program);
    await stack.ok("stack", "init", "dev");
    return stack;
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  file(...parts: string[]): string {
    return path.join(this.directory, ...parts);
  }

  setProgram(program: ProgramSpec): void {
    writeFileSync(this.file("program.json"), JSON.stringify(program));
  }

  async run(...argv: string[]): Promise<Result> {
    let [out, err] = ["", ""];
    const exitCode = await runEngine(argv, {
      cwd: this.directory,
      env: this.env,
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => (err += text) },
    });
    return { exitCode, out, err };
  }

  async ok(...argv: string[]): Promise<string> {
    const { exitCode, out, err } = await this.run(...argv);
    if (exitCode !== 0) throw new Error(`${argv.join(" ")} ended with ${exitCode}\n${out}\n${err}`);
    return out;
  }

  up(...flags: string[]): Promise<string> {
    return this.ok("up", "--yes", "--skip-preview", ...flags);
  }

  async preview(...flags: string[]): Promise<Digest> {
    const { exitCode, out } = await this.run("preview", "--json", ...flags);
    return { ...digestSchema.parse(JSON.parse(out)), exitCode };
  }

  async export(...flags: string[]) {
    return exportSchema.parse(JSON.parse(await this.ok("stack", "export", ...flags))).deployment;
  }

  async resource(name: string, ...flags: string[]): Promise<WrittenResource | undefined> {
    return (await this.export(...flags)).resources.find(({ urn }) => urn.endsWith(`::${name}`));
  }

  /** The text of the state file. */
  stateFile(): string {
    return readFileSync(this.file("state/.pulumi/stacks/test/dev.json"), "utf8");
  }

  /** The provider calls since the last time, except `configure`. */
  calls(): string[] {
    const log = this.file("objects/calls.log");
    if (!existsSync(log)) return [];
    const lines = readFileSync(log, "utf8").split("\n");
    rmSync(log);
    return lines.filter((line) => line !== "" && !line.startsWith("configure"));
  }

  objectFile(id: string): string {
    return this.file("objects", `${id}.json`);
  }
}

/** A plan's steps, such as "update a". */
export const opsOf = ({ steps }: Digest): string[] =>
  steps.map(({ op, urn }) => `${op} ${nameOf(urn)}`).sort();

export const nameOf = (urn: string): string => urn.split("::").at(-1) ?? "";

/** One stack for all tests of a block, which run in order. */
export function sharedStack(program: ProgramSpec): () => TestStack {
  let stack: TestStack | undefined;
  beforeAll(async () => {
    stack = await TestStack.create(program);
  });
  afterAll(() => stack?.remove());
  return () => {
    if (stack === undefined) throw new Error("the stack is created before the first test");
    return stack;
  };
}

/** Provider calls without IDs, such as "delete a". */
export const withoutIds = (calls: readonly string[]): string[] =>
  calls.map((call) => call.replace(/-\d+$/, ""));
