import { createHash } from "node:crypto";
import { appendFileSync, closeSync, fstatSync, openSync, readSync } from "node:fs";
import { z } from "zod";
import type { ClaimBook, Claimant } from "./claims";
import { identityOf, isOfDead } from "./user-directory";

const line = z.object({ key: z.string(), by: z.string(), name: z.string(), holder: z.string() });
type Line = z.infer<typeof line>;

/**
 * The claims of all of an engine's provider processes. They append to one file, so all of them agree on which claim
 * came first.
 */
export class SharedClaims implements ClaimBook {
  readonly #file: () => string;
  readonly #own = identityOf(process.pid) ?? "";
  readonly #entered = new Set<string>();
  readonly #lines = new Map<string, Line[]>();
  /** How much of the file was read, up to the end of a complete line. */
  #bytesRead = 0;

  /** @param file returns the file's path, after creating its directory. */
  constructor(file: () => string) {
    this.#file = file;
  }

  /** Records a digest instead of the key, because the key may contain a secret argument. */
  first(claimed: string, claimant: Claimant): Claimant {
    const key = createHash("sha256").update(claimed).digest("base64url");
    const { type, name, holder } = claimant;
    const own = `${key} ${holder}`;
    if (!this.#entered.has(own)) {
      this.#entered.add(own);
      this.#append({ key, by: this.#own, name, holder });
    }
    this.#readOn();
    // A dead process belongs to an earlier engine that had the same address.
    const first = this.#lines.get(key)?.find(({ by }) => !isOfDead(by));
    return first === undefined ? claimant : { type, name: first.name, holder: first.holder };
  }

  /** Begins with a line break, because a killed process may have left an incomplete line. */
  #append(entry: Line): void {
    // A cleaner of temporary directories may remove it during a long run. What was read before still holds.
    appendFileSync(this.#file(), `\n${JSON.stringify(entry)}\n`, { mode: 0o600 });
  }

  /** Reads the lines that were appended since the last read. */
  #readOn(): void {
    const file = openSync(this.#file(), "r");
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
