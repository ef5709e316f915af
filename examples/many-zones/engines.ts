import { execFile } from "node:child_process";
import type { Zone } from "./zones-file";

/** Plans and deploys one zone. Throws the reason in one line. */
export interface Engine {
  /** Returns the engine's counts. */
  up(zone: Zone): Promise<string>;
  /** Returns the output of `pulumi preview --json` with all steps, even if the preview failed. */
  plan(zone: Zone): Promise<string>;
}

const PLAN = ["preview", "--json", "--show-sames", "--show-replacement-steps"];

/** Runs `pulumi`, or any command that takes its arguments, such as `edgeguard-local`. */
export function command(words: readonly string[]): Engine {
  const prepare = async ({ stack, zoneId }: Zone): Promise<void> => {
    await ok(run(words, ["stack", "select", stack, "--create"]));
    await ok(run(words, ["config", "set", "zoneId", zoneId, "--stack", stack]));
  };
  return {
    async up(zone) {
      await prepare(zone);
      return countsIn(
        (await ok(run(words, ["up", "--yes", "--skip-preview", "--stack", zone.stack]))).stdout,
      );
    },
    async plan(zone) {
      await prepare(zone);
      return planned(await run(words, [...PLAN, "--stack", zone.stack]));
    },
  };
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run([file = "", ...before]: readonly string[], args: readonly string[]): Promise<Ended> {
  return start(file, [...before, ...args, "--non-interactive", "--cwd", __dirname]);
}

/** Runs a command, and resolves whatever its exit code. */
export function start(file: string, args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(file, args, { cwd: __dirname, maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, stdout, stderr: stderr || (error?.message ?? "") });
    });
  });
}

async function ok(ending: Promise<Ended>): Promise<Ended> {
  const ended = await ending;
  if (ended.code !== 0) throw new Error(reasonIn(`${ended.stdout}\n${ended.stderr}`));
  return ended;
}

/** A failed preview has a plan, too, which says why. Without a plan, stderr says why. */
function planned({ stdout, stderr }: Ended): string {
  if (stdout.trim() === "") throw new Error(reasonIn(stderr));
  return stdout;
}

/** "+ 2 created, 1 unchanged" from the engine's summary. */
export function countsIn(text: string): string {
  const summary = text.slice(text.lastIndexOf("Resources:")).split("\n").slice(1);
  const end = summary.findIndex((line) => line.trim() === "");
  return summary
    .slice(0, end < 0 ? undefined : end)
    .map((line) => line.trim())
    .join(", ");
}

/** The first error that says more than "update failed". */
export function reasonIn(text: string): string {
  const errors = text
    .split("\n")
    .map((line) => /\berror: (.+)/.exec(line)?.[1])
    .filter((line) => line !== undefined && !/^(update|preview) failed$/.test(line));
  return errors[0] ?? text.trim().split("\n").at(-1) ?? "unknown reason";
}
