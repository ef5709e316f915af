/** What child processes print, line by line. */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export interface Lines {
  out(line: string): void;
  error(line: string): void;
}

/** Ends when the stream does. */
export async function forwardLines(stream: Readable, take: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
    if (line.trim() !== "") take(line);
  }
}
