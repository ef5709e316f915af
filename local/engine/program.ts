/** The program's process, started as the CLI's language host starts it. */
import { createRequire } from "node:module";
import path from "node:path";
import { terminate, forwardLines, type LineHandlers, spawnNode } from "./children";
import { CommandError } from "./errors";
import type { Config, Project } from "./project";

/** The exit code of a program that has already reported its error to the engine. */
const EXIT_ALREADY_REPORTED = 32;

interface ProgramRun {
  readonly project: Project;
  readonly stack: string;
  readonly config: Config;
  readonly dryRun: boolean;
  readonly parallel: number;
  /** Where the engine serves both of its services. */
  readonly address: string;
  readonly env: NodeJS.ProcessEnv;
  readonly lines: LineHandlers;
}

export interface Program {
  /** Why the program failed. Undefined if it succeeded, "" if the program reported the error itself. */
  readonly failure: Promise<string | undefined>;
  stop(): void;
  /** Ignores further output, which is only errors about the connection that the engine closed. */
  mute(): void;
}

export function startProgram(run: ProgramRun): Program {
  const { project } = run;
  const args = [
    ...project.nodeArgs,
    resolveSdk(project, "run"),
    ...programArguments(run),
    project.entryPoint,
  ];
  const child = spawnNode(args, { cwd: project.programDirectory, env: programEnvironment(run) });
  child.stdin.end();
  let muted = false;
  const output = Promise.all([
    forwardLines(child.stdout, (line) => muted || run.lines.out(line)),
    forwardLines(child.stderr, (line) => muted || run.lines.error(line)),
  ]);
  const failure = new Promise<string | undefined>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      void output.then(() => resolve(failureOf(code, signal)));
    });
  });
  return { failure, stop: () => terminate(child), mute: () => (muted = true) };
}

function failureOf(code: number | null, signal: string | null): string | undefined {
  if (code === 0) return undefined;
  if (code === EXIT_ALREADY_REPORTED) return "";
  if (code === null) return `Program was killed by ${signal ?? "a signal"}`;
  return `Program exited with non-zero exit code: ${code}`;
}

/** Finds the program's SDK. As with the CLI, the program uses its own, whose version may differ from the engine's. */
export function resolveSdk(project: Project, command: "run" | "dynamic-provider"): string {
  try {
    return createRequire(path.join(project.programDirectory, "index.js")).resolve(
      `@pulumi/pulumi/cmd/${command}`,
    );
  } catch {
    throw new CommandError(
      `@pulumi/pulumi isn't installed in ${project.programDirectory} or a parent directory. Run \`npm install\` there`,
    );
  }
}

function programArguments(run: ProgramRun): string[] {
  const flags: Readonly<Record<string, string>> = {
    monitor: run.address,
    engine: run.address,
    organization: "organization",
    project: run.project.name,
    "root-directory": run.project.root,
    stack: run.stack,
    pwd: run.project.programDirectory,
  };
  return [
    ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]),
    ...(run.dryRun ? ["--dry-run"] : []),
    "--parallel",
    String(run.parallel),
  ];
}

function programEnvironment({ config, env, project }: ProgramRun): NodeJS.ProcessEnv {
  const values = Object.fromEntries(
    [...config].map(([key, { value }]) => [key.replace(":", ":config:"), value] as const),
  );
  const secretKeys = [...config].filter(([, { secret }]) => secret).map(([key]) => key);
  return {
    ...env,
    PULUMI_CONFIG: JSON.stringify(values),
    PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(secretKeys),
    ...(project.typescript && { PULUMI_NODEJS_TYPESCRIPT: "true" }),
  };
}
