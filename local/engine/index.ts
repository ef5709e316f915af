/** A small stand-in for the Pulumi engine. It runs the real SDK and the real dynamic provider host. */
import { runCommand } from "./commands";
import type { Sink } from "./commands/io";

export interface EngineIo {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly stdout?: Sink;
  readonly stderr?: Sink;
  /** Aborting it acts like the first Ctrl-C: running steps finish, and no others start. */
  readonly signal?: AbortSignal;
}

/** Runs one `edgeguard-local` command line and resolves to its exit code. */
export function runEngine(argv: readonly string[], io: EngineIo = {}): Promise<number> {
  return runCommand(argv, {
    cwd: io.cwd ?? process.cwd(),
    env: io.env ?? process.env,
    stdout: io.stdout ?? process.stdout,
    stderr: io.stderr ?? process.stderr,
    signal: io.signal ?? new AbortController().signal,
  });
}
