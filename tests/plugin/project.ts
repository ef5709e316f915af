import { execFileSync } from "node:child_process";
import { appendFileSync, copyFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EngineCommand } from "edgeguard-local";
import { cliEngine, Project, REPOSITORY } from "../support/engine";

export const PLUGIN = join(REPOSITORY, "plugin");

/** The SDK that Pulumi generates from the schema, compiled. Takes some seconds. */
export function generateSdk(cli: EngineCommand, folder: string, env: Readonly<Record<string, string>>): void {
  const executable = join(PLUGIN, "pulumi-resource-edgeguard");
  const run = (command: string, args: readonly string[]): void => {
    execFileSync(command, args, { env: { PATH: process.env["PATH"], ...env }, stdio: "pipe" });
  };
  const [pulumi, ...before] = cli.command;
  const args = ["package", "gen-sdk", executable, "--language", "nodejs", "--out", folder];
  run(pulumi, [...before, ...args]);
  const sdk = join(folder, "nodejs");
  symlinkSync(join(REPOSITORY, "node_modules"), join(sdk, "node_modules"));
  run(process.execPath, [join(REPOSITORY, "node_modules/typescript/bin/tsc"), "--project", sdk]);
  copyFileSync(join(sdk, "package.json"), join(sdk, "bin/package.json")); // As its build does.
}

/** A project whose engine finds the plugin in this repository. */
export class PluginProject extends Project {
  constructor(engine: EngineCommand, name: string) {
    super(engine, name);
    this.#usePlugin();
  }

  /** Makes a YAML program the project's: its resources, and whatever else it has. */
  yaml(program: string): void {
    writeFileSync(join(this.dir, "Pulumi.yaml"), `name: ${this.name}\nruntime: yaml\n${program}`);
    this.#usePlugin();
  }

  #usePlugin(): void {
    appendFileSync(
      join(this.dir, "Pulumi.yaml"),
      `plugins:\n  providers:\n    - name: edgeguard\n      path: ${PLUGIN}\n`,
    );
  }
}

/** Why programs in this language can't run here. Undefined if there's a Pulumi CLI that runs them, and these commands. */
export function missingFor(language: string, ...commands: readonly string[]): string | undefined {
  const needed = [`pulumi-language-${language}`, ...commands];
  if (needed.every(isOnPath) && cliEngine() !== undefined) return undefined;
  return `no ${needed.join(" or no ")} on PATH`;
}

function isOnPath(command: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${command}`]);
    return true;
  } catch {
    return false;
  }
}
