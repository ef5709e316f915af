import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { basename, dirname, join } from "node:path";
import { isMissing } from "./engine/errors";

/** Runs the Pulumi CLI if it's on PATH, otherwise this package's local engine. */

export interface EngineCommand {
  /** The engine's name in messages. */
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

const PACKAGE = basename(__dirname) === "dist" ? dirname(__dirname) : __dirname;

/** The command that runs this package's engine. */
export const LOCAL_ENGINE: EngineCommand = {
  name: "the local engine",
  command: [process.execPath, join(PACKAGE, "dist/engine/cli.js")],
};

/** Returns the Pulumi CLI. Undefined if it isn't on PATH. */
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

/**
 * Returns an environment that confines an engine to `home`: with its own login, state and passphrase, and without the
 * user's credentials, settings or proxies.
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

/** Starts the engine non-interactively and detached, so Ctrl-C only reaches it through its parent. */
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
