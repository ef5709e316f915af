import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { printable } from "../api/printable";

/** What a command sees of its process, so that a test can put something else in its place. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Results and nothing else, so that it can be piped. */
  readonly stdout: Writable & { readonly isTTY?: boolean };
  /** All that is meant for a person. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Paths of arguments are relative to it. */
  readonly cwd: string;
  /**
   * From now on a first Ctrl-C no longer ends the process but fires the signal: what is under way is finished and
   * reported. A second one ends it.
   */
  interrupted(): AbortSignal;
}

export const INTERRUPTED_EXIT_CODE = 130;

export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process;
  // The reader has gone, as `head` does when it has enough: nobody is left to be told.
  for (const stream of [stdout, stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  return { stdin, stdout, stderr, env, cwd: process.cwd(), interrupted };
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

/** Writes a message for a person, whatever text from outside is in it. */
export function printToStderr({ stderr }: Io, line: string): void {
  stderr.write(`${printable(line)}\n`);
}

/** Writes a part of the result, and waits where the reader is slower. */
export async function print({ stdout }: Io, part: string | Uint8Array): Promise<void> {
  if (!stdout.write(part)) await once(stdout, "drain");
}

/** Characters that are collected for one write. */
const PART_CHARACTERS = 64 * 1024;

/**
 * Prints a JSON array, an item a line, as the items come. Where the source fails, the array stays open: what reads it
 * then knows that it is not whole.
 */
export async function printArray(io: Io, items: AsyncIterable<object>): Promise<void> {
  let part = "[";
  let first = true;
  for await (const item of items) {
    part += `${first ? "" : ","}\n  ${JSON.stringify(item)}`;
    first = false;
    if (part.length < PART_CHARACTERS) continue;
    await print(io, part);
    part = "";
  }
  await print(io, `${part}${first ? "" : "\n"}]\n`);
}
