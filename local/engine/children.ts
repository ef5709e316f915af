/** Starts and ends child processes, which must not outlive this process. */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { basename, dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { createInterface } from "node:readline";

export interface LineHandlers {
  out(line: string): void;
  error(line: string): void;
}

export type NodeProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** The built file, even if this one runs as TypeScript, because Node has to load it. */
const LOAD_ON_USE = join(
  basename(dirname(__dirname)) === "dist" ? __dirname : join(__dirname, "../dist/engine"),
  "load-on-use.js",
);

const GRACE_MS = 5_000;

const alive = new Set<NodeProcess>();

/**
 * Runs Node. The child's stdin stays open until this process exits; when it closes, the child knows that the engine has
 * exited. The child is detached, so Ctrl-C in a terminal reaches only the engine, which then stops its children.
 */
export function spawnNode(args: readonly string[], at: { cwd: string; env: NodeJS.ProcessEnv }): NodeProcess {
  const all = ["--require", LOAD_ON_USE, ...args];
  const child = spawn(process.execPath, all, { ...at, stdio: ["pipe", "pipe", "pipe"], detached: true });
  child.stdin.on("error", () => undefined);
  alive.add(child);
  child.once("close", () => alive.delete(child));
  return child;
}

/** Sends SIGINT, and SIGKILL if the child doesn't end in time. */
export function terminate(child: NodeProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGINT");
  const kill = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
  child.once("close", () => clearTimeout(kill));
}

export function killChildren(): void {
  for (const child of alive) child.kill("SIGKILL");
}

/** Forwards each line of a stream. Resolves when the stream ends. */
export async function forwardLines(stream: Readable, onLine: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
    if (line.trim() !== "") onLine(line);
  }
}
