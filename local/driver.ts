import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { basename, dirname, join } from "node:path";

/** Runs a Pulumi engine by its command line: the CLI where one is on PATH, else the engine of this package. */

export interface EngineCommand {
  /** As people name it. */
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

const PACKAGE = basename(__dirname) === "dist" ? dirname(__dirname) : __dirname;

/** The engine of this package, built. */
export const LOCAL_ENGINE: EngineCommand = {
  name: "the local engine",
  command: [process.execPath, join(PACKAGE, "dist/engine/cli.js")],
};

/** The Pulumi CLI, or undefined where none is on PATH. */
export function pulumiCli(): EngineCommand | undefined {
  try {
    const version = execFileSync("pulumi", ["version"], {
      encoding: "utf8",
      env: { ...process.env, PULUMI_SKIP_UPDATE_CHECK: "true" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    return { name: `the Pulumi CLI ${version.trim()}`, command: ["pulumi"] };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Not `instanceof Error`: a test runner's errors may come from another realm. */
function isMissing(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "ENOENT";
}

/**
 * An environment in which an engine touches nothing but `home`: its own login, state and passphrase, no credential and
 * no setting of the user's.
 */
export function isolatedEnvironment(home: string): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && !/^(PULUMI_|CLOUDFLARE_|EDGEGUARD_|https?_proxy$|HTTPS?_PROXY$)/.test(name))
      kept[name] = value;
  }
  return {
    ...kept,
    PULUMI_HOME: join(home, "home"),
    PULUMI_BACKEND_URL: `file://${join(home, "state")}`,
    PULUMI_CONFIG_PASSPHRASE: "local",
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
  };
}

/** Starts the engine without a terminal to ask questions on; a Ctrl-C reaches it only through whoever started it. */
export function startEngine(
  engine: EngineCommand,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): ChildProcess {
  const [command, ...before] = engine.command;
  return spawn(command, [...before, ...args, "--non-interactive", "--cwd", options.cwd], {
    ...options,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
}
