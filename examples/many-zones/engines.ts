import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { LocalWorkspace } from "@pulumi/pulumi/automation";

export interface Zone {
  readonly stack: string;
  readonly zoneId: string;
}

/** Deploys one zone; answers with the engine's counts, throws the reason in one line. */
export type Deploy = (zone: Zone) => Promise<string>;

/** With the Automation API, on the Pulumi CLI. */
export const automation: Deploy = async ({ stack: stackName, zoneId }) => {
  const printed: string[] = [];
  try {
    const stack = await LocalWorkspace.createOrSelectStack({ stackName, workDir: __dirname });
    await stack.setConfig("zoneId", { value: zoneId });
    await stack.up({ onOutput: (text) => printed.push(text), color: "never" });
    return countsIn(printed.join(""));
  } catch (error) {
    if (String(error).includes("pulumi ENOENT"))
      throw new Error('there is no pulumi on PATH: install the Pulumi CLI, or give --engine "<command>"');
    throw new Error(reasonIn(printed.join("") || String(error)));
  }
};

/** With any command that takes the CLI's arguments, such as `edgeguard-local`. */
export function command(file: string, ...before: readonly string[]): Deploy {
  const run = async (stack: string, ...args: readonly string[]): Promise<string> => {
    const all = [...before, ...args, "--stack", stack, "--non-interactive", "--cwd", __dirname];
    return (await promisify(execFile)(file, all, { maxBuffer: 64 * 1024 * 1024 })).stdout;
  };
  return async ({ stack, zoneId }) => {
    try {
      await run(stack, "stack", "select", stack, "--create");
      await run(stack, "config", "set", "zoneId", zoneId);
      return countsIn(await run(stack, "up", "--yes", "--skip-preview"));
    } catch (error) {
      const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      throw new Error(reasonIn(`${stdout}\n${stderr}` || String(error)));
    }
  };
}

/** "+ 2 created, 1 unchanged" of the engine's closing summary. */
export function countsIn(text: string): string {
  const summary = text.slice(text.lastIndexOf("Resources:")).split("\n").slice(1);
  const end = summary.findIndex((line) => line.trim() === "");
  return summary
    .slice(0, end < 0 ? undefined : end)
    .map((line) => line.trim())
    .join(", ");
}

/** The first error that says more than that there were errors. */
export function reasonIn(text: string): string {
  const errors = text
    .split("\n")
    .map((line) => /\berror: (.+)/.exec(line)?.[1])
    .filter((line) => line !== undefined && !/^(update|preview) failed$/.test(line));
  return errors[0] ?? text.trim().split("\n").at(-1) ?? "no reason was given";
}
