import { execFileSync } from "node:child_process";
import { appendFileSync, copyFileSync, cpSync, symlinkSync, writeFileSync } from "node:fs";
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

/** Makes a project one for Java, whose program is `App`, and adds the SDK to it as the engine's instructions say. */
export async function addJavaSdk(project: Project): Promise<void> {
  writeFileSync(join(project.dir, "Pulumi.yaml"), `name: ${project.name}\nruntime: java\n`);
  writeFileSync(join(project.dir, "pom.xml"), POM);
  await project.ok("package", "add", "./node_modules/pulumi-resource-edgeguard");
  cpSync(join(project.dir, "sdks/edgeguard/src"), join(project.dir, "src"), { recursive: true });
}

/** The host passes `mainClass` and `mainArgs` to ask the SDK for its plugin. */
const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId>
  <artifactId>example</artifactId>
  <version>1</version>
  <properties>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <mainClass>example.App</mainClass>
    <mainArgs/>
    <exec.mainClass>\${mainClass}</exec.mainClass>
    <exec.args>\${mainArgs}</exec.args>
  </properties>
  <dependencies>
    <dependency><groupId>com.pulumi</groupId><artifactId>pulumi</artifactId><version>1.36.1</version></dependency>
    <dependency><groupId>com.google.code.findbugs</groupId><artifactId>jsr305</artifactId><version>3.0.2</version></dependency>
    <dependency><groupId>com.google.code.gson</groupId><artifactId>gson</artifactId><version>2.8.9</version></dependency>
  </dependencies>
</project>
`;

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
