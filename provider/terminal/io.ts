import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { printable, visible } from "../basics/printable";

/** A command's streams, environment and working directory. Tests replace them. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** The stream for results only, so that they can be piped. */
  readonly stdout: Writable & { readonly isTTY?: boolean };
  /** The stream for everything else that people read. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory to which relative paths in arguments refer. */
  readonly cwd: string;
  /**
   * Returns a signal that the first Ctrl-C aborts instead of ending the process, so that work in progress is finished
   * and reported. A second Ctrl-C ends the process.
   */
  interrupted(): AbortSignal;
}

export const INTERRUPTED_EXIT_CODE = 130;

export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process;
  for (const stream of [stdout, stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") process.exit(1);
      unread.add(stream);
    });
  }
  return { stdin, stdout, stderr, env, cwd: process.cwd(), interrupted };
}

/** The streams whose reader has exited, as `head` does early. */
const unread = new WeakSet<Writable>();

/** Whether anyone still reads the result. */
function hasReader({ stdout }: Io): boolean {
  return !unread.has(stdout);
}

let interruption: AbortController | undefined;

function interrupted(): AbortSignal {
  if (interruption !== undefined) return interruption.signal;
  const controller = (interruption = new AbortController());
  process.once("SIGINT", () => {
    controller.abort();
    process.once("SIGINT", () => process.exit(INTERRUPTED_EXIT_CODE));
  });
  return controller.signal;
}

/** Prints a message to stderr, with invisible characters escaped. */
export function printToStderr({ stderr }: Io, line: string): void {
  stderr.write(`${printable(line)}\n`);
}

/**
 * Prints a part of the result, and waits if the reader is slow. If the reader has exited, the command still goes on to
 * its exit code.
 */
export async function print(io: Io, part: string | Uint8Array): Promise<void> {
  const { stdout } = io;
  if (!hasReader(io) || stdout.write(part)) return;
  await once(stdout, "drain").catch((error: unknown) => {
    if (hasReader(io)) throw error;
  });
}

/** The number of characters per write. */
const PART_CHARACTERS = 64 * 1024;

/**
 * Prints a JSON array as its items arrive, one per line, as long as anyone reads it. If the source fails, the array
 * stays open, so that the reader notices that it's incomplete.
 */
export async function printArray(io: Io, items: AsyncIterable<object>): Promise<void> {
  let part = "[";
  let first = true;
  for await (const item of items) {
    part += `${first ? "" : ","}\n  ${visible(JSON.stringify(item))}`;
    first = false;
    if (part.length < PART_CHARACTERS) continue;
    await print(io, part);
    if (!hasReader(io)) return;
    part = "";
  }
  await print(io, `${part}${first ? "" : "\n"}]\n`);
}
