import { createHash } from "node:crypto";
import { appendFileSync, closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { ClaimBook, Claimant } from "./claims";
import { isAlive } from "./machine-lock";

const line = z.object({ key: z.string(), pid: z.number(), name: z.string(), holder: z.string() });
type Line = z.infer<typeof line>;

const CHUNK_BYTES = 64 * 1024;

/**
 * The claims of all provider processes of an engine. They append to one file, so what's entered first is first for every
 * process.
 */
export class SharedClaims implements ClaimBook {
  readonly #file: string;
  readonly #entered = new Set<string>();
  readonly #lines = new Map<string, Line[]>();
  #bytesRead = 0;
  #rest = Buffer.alloc(0);

  /** @param folder where all these processes find the file, and nobody else does. */
  constructor(folder: string) {
    this.#file = join(folder, "claims");
  }

  /** Digests the key, which may contain a secret argument. */
  first(claimed: string, claimant: Claimant): Claimant {
    const key = createHash("sha256").update(claimed).digest("base64url");
    const { type, name, holder } = claimant;
    const own = `${key} ${holder}`;
    if (!this.#entered.has(own)) {
      this.#entered.add(own);
      const entry: Line = { key, pid: process.pid, name, holder };
      appendFileSync(this.#file, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
    }
    this.#readOn();
    // A dead process belongs to an earlier engine that had the same address.
    const first = this.#lines.get(key)?.find(({ pid }) => pid === process.pid || isAlive(pid));
    return first === undefined ? claimant : { type, name: first.name, holder: first.holder };
  }

  /** Reads what was appended since the last time. */
  #readOn(): void {
    const added: Buffer[] = [this.#rest];
    const file = openSync(this.#file, "r");
    try {
      for (;;) {
        const chunk = Buffer.alloc(CHUNK_BYTES);
        const bytes = readSync(file, chunk, 0, CHUNK_BYTES, this.#bytesRead);
        if (bytes === 0) break;
        this.#bytesRead += bytes;
        added.push(chunk.subarray(0, bytes));
      }
    } finally {
      closeSync(file);
    }
    const text = Buffer.concat(added);
    const end = text.lastIndexOf("\n") + 1;
    this.#rest = text.subarray(end);
    for (const each of text.subarray(0, end).toString("utf8").split("\n").slice(0, -1)) {
      const entry = line.parse(JSON.parse(each));
      this.#lines.set(entry.key, [...(this.#lines.get(entry.key) ?? []), entry]);
    }
  }
}
