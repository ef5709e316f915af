import { createHash } from "node:crypto";
import { appendFileSync, closeSync, fstatSync, mkdirSync, openSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { ClaimBook, Claimant } from "./claims";
import { codeOf, isAlive } from "./machine-lock";

const line = z.object({ key: z.string(), pid: z.number(), name: z.string(), holder: z.string() });
type Line = z.infer<typeof line>;

/**
 * The claims of all of an engine's provider processes. They append to one file, so all of them agree on which claim
 * came first.
 */
export class SharedClaims implements ClaimBook {
  readonly #file: string;
  readonly #entered = new Set<string>();
  readonly #lines = new Map<string, Line[]>();
  /** How much of the file was read, up to the end of a complete line. */
  #bytesRead = 0;

  /** @param folder where all these processes find the file, and nobody else does. */
  constructor(folder: string) {
    this.#file = join(folder, "claims");
  }

  /** Records a digest instead of the key, because the key may contain a secret argument. */
  first(claimed: string, claimant: Claimant): Claimant {
    const key = createHash("sha256").update(claimed).digest("base64url");
    const { type, name, holder } = claimant;
    const own = `${key} ${holder}`;
    if (!this.#entered.has(own)) {
      this.#entered.add(own);
      this.#append({ key, pid: process.pid, name, holder });
    }
    this.#readOn();
    // A dead process belongs to an earlier engine that had the same address.
    const first = this.#lines.get(key)?.find(({ pid }) => pid === process.pid || isAlive(pid));
    return first === undefined ? claimant : { type, name: first.name, holder: first.holder };
  }

  /** Begins with a line break, because a killed process may have left an incomplete line. */
  #append(entry: Line): void {
    const text = `\n${JSON.stringify(entry)}\n`;
    try {
      appendFileSync(this.#file, text, { mode: 0o600 });
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      // A cleaner of temporary directories removed it during a long run. What was read before still holds.
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      appendFileSync(this.#file, text, { mode: 0o600 });
    }
  }

  /** Reads the lines that were appended since the last read. */
  #readOn(): void {
    const file = openSync(this.#file, "r");
    try {
      const { size } = fstatSync(file);
      if (size < this.#bytesRead) this.#bytesRead = 0; // Another file than the last time.
      const added = Buffer.alloc(size - this.#bytesRead);
      readSync(file, added, 0, added.length, this.#bytesRead);
      const whole = added.subarray(0, added.lastIndexOf("\n") + 1);
      this.#bytesRead += whole.length;
      for (const each of whole.toString("utf8").split("\n")) {
        const entry = lineOf(each);
        if (entry !== undefined) this.#lines.set(entry.key, [...(this.#lines.get(entry.key) ?? []), entry]);
      }
    } finally {
      closeSync(file);
    }
  }
}

/** Parses a line. Undefined if the line is empty or incomplete. */
function lineOf(text: string): Line | undefined {
  try {
    return line.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
