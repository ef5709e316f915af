/** The parts of its process that a command uses. */
import { availableParallelism } from "node:os";
import path from "node:path";
import { CommandError, EXIT } from "../errors";

export interface Sink {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export interface Io {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
}

export interface GlobalFlags {
  readonly stack?: string;
  readonly parallel?: number;
}

/** Returns the CLI's default: four steps per processor. */
export const defaultParallel = (): number => availableParallelism() * 4;

export function parseWholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0)
    throw new CommandError(`invalid value ${text}: use a whole number, 0 or more`, EXIT.badInvocation);
  return number;
}

/** Resolves a path from the command line, which is relative to --cwd. */
export const resolveFrom =
  (io: Io) =>
  (given: string): string =>
    path.resolve(io.cwd, given);

/** Parses a switch. The CLI's switches accept =true and =false. */
export function parseBoolean(text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new CommandError(`invalid value ${text}: use true or false`, EXIT.badInvocation);
}

export const collect = (text: string, before: readonly string[] = []): string[] => [...before, text];
