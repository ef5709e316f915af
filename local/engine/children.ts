/** Child processes. Whoever ends this process must be able to end them, too. */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { basename, dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { createInterface } from "node:readline";

export interface Lines {
  out(line: string): void;
  error(line: string): void;
}

export type NodeProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** Node loads the built one, also where this file is run as TypeScript. */
const LOAD_ON_USE = join(
  basename(dirname(__dirname)) === "dist" ? __dirname : join(__dirname, "../dist/engine"),
  "load-on-use.js",
);

const GRACE_MS = 5_000;

const alive = new Set<NodeProcess>();

/**
 * Runs Node. The pipe to its stdin stays open as long as this process lives: its end tells the child that the engine is
 * gone. Detached, so that a Ctrl-C in the terminal reaches the engine alone, which ends its children in its own time.
 */
export function spawnNode(args: readonly string[], at: { cwd: string; env: NodeJS.ProcessEnv }): NodeProcess {
  const all = ["--require", LOAD_ON_USE, ...args];
  const child = spawn(process.execPath, all, { ...at, stdio: ["pipe", "pipe", "pipe"], detached: true });
  child.stdin.on("error", () => undefined);
  alive.add(child);
  child.once("close", () => alive.delete(child));
  return child;
}

/** Asks first. */
export function endGently(child: NodeProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGINT");
  const kill = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
  child.once("close", () => clearTimeout(kill));
}

export function killChildren(): void {
  for (const child of alive) child.kill("SIGKILL");
}

/** Ends when the stream does. */
export async function forwardLines(stream: Readable, take: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
    if (line.trim() !== "") take(line);
  }
}
