/** What a command may touch of the process it runs in. */
import { availableParallelism } from "node:os";
import path from "node:path";
import pc from "picocolors";
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
  readonly color: "always" | "auto" | "never" | "raw";
  readonly parallel?: number;
}

export function colorsFor(io: Io, flag: GlobalFlags["color"]): ReturnType<typeof pc.createColors> {
  const isWanted = io.env["NO_COLOR"] === undefined && io.stdout.isTTY === true;
  return pc.createColors(flag === "always" || (flag === "auto" && isWanted));
}

/** As the CLI: four steps at a time for each processor. */
export const defaultParallel = (): number => availableParallelism() * 4;

export function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0)
    throw new CommandError(`${text} is not a number`, EXIT.badInvocation);
  return number;
}

/** A path on the command line is seen from the folder that --cwd names. */
export const pathFrom =
  (io: Io) =>
  (given: string): string =>
    path.resolve(io.cwd, given);

/** The CLI's switches take =true and =false. */
export function onOrOff(text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new CommandError(`${text} is neither true nor false`, EXIT.badInvocation);
}

export const collect = (text: string, before: readonly string[] = []): string[] => [...before, text];
