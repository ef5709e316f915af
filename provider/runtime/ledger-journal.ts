import { createHash } from "node:crypto";
import { appendFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { codeOf, isAlive, withMachineLock, type LockOptions } from "./machine-lock";

/** What a resource of this operation does with a real object, from the strongest claim on it to the weakest. */
const HOLDINGS = [
  /** Created or adopted. */
  "made",
  /** Updated. */
  "changed",
  /** Declared as it is recorded. */
  "unchanged",
  /** The update, or a replacement that the engine prefers, is still to come. */
  "changing",
] as const;
export type Holding = (typeof HOLDINGS)[number];

/** The strongest claim on one object. */
export function strongest(holdings: readonly (Holding | undefined)[]): Holding | undefined {
  return HOLDINGS.find((each) => holdings.includes(each));
}

const entry = z.tuple([z.string(), z.enum(HOLDINGS)]);

/**
 * The ledgers of an engine's provider processes, for each other. Every explicit provider is a process of its own, so the
 * successor of a resource may be created in one process while its predecessor is deleted in another. Each process appends
 * to a file of its own, in a directory named after the engine's address, and reads the files of the others.
 */
export class LedgerJournal {
  readonly #folder: string;
  readonly #own = String(process.pid);
  readonly #read = new Map<string, { readonly text: string; readonly holdings: Map<string, Holding> }>();

  /**
   * @param engine the address that the engine gave the process.
   * @throws if the directory can't be written, or belongs to somebody else.
   */
  constructor(engine: string, root = tmpdir()) {
    const uid = process.getuid?.();
    const name = createHash("sha256")
      .update(`${uid ?? ""} ${engine}`)
      .digest("hex")
      .slice(0, 32);
    this.#folder = join(root, `edgeguard-ledger-${name}`);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const found = lstatSync(this.#folder);
    if (!found.isDirectory() || (uid !== undefined && found.uid !== uid))
      throw new Error(`${this.#folder} belongs to another user`);
    // An earlier process may have had this number and died without removing its file.
    rmSync(join(this.#folder, this.#own), { force: true });
    appendFileSync(join(this.#folder, this.#own), "", { mode: 0o600 });
    process.once("exit", () => this.#remove());
  }

  /** Synchronous: the entry must be there before the engine learns of the change. */
  write(object: string, holding: Holding): void {
    appendFileSync(join(this.#folder, this.#own), `${JSON.stringify([object, holding])}\n`);
  }

  /** What the other processes hold of the object. */
  ofOthers(object: string): Holding | undefined {
    return strongest(this.#others().map((name) => this.#holdingsIn(name).get(object)));
  }

  /** Whether another process holds an object whose name begins so. */
  othersHold(prefix: string): boolean {
    return this.#others().some((name) =>
      [...this.#holdingsIn(name).keys()].some((object) => object.startsWith(prefix)),
    );
  }

  /** Runs work while no other of the processes does work with this key. Alone, a process needs no lock. */
  async exclusively<T>(
    key: string,
    options: Pick<LockOptions, "pause" | "say">,
    work: () => Promise<T>,
  ): Promise<T> {
    if (this.#others().length === 0) return await work();
    // A holder that has died is noticed, and one at work may need long, as a migration does.
    return await withMachineLock(key, { ...options, patienceMs: Infinity, folder: this.#folder }, work);
  }

  /** The files of the other processes. Dead ones belong to an earlier engine that had the same address. */
  #others(): string[] {
    const files = readdirSync(this.#folder).filter((name) => /^\d+$/.test(name));
    return files.filter((name) => name !== this.#own && isAlive(Number(name)));
  }

  #holdingsIn(name: string): ReadonlyMap<string, Holding> {
    const text = this.#textOf(name);
    const known = this.#read.get(name);
    if (known?.text === text) return known.holdings;
    const lines = text.split("\n").slice(0, -1);
    const holdings = new Map(lines.map((line) => entry.parse(JSON.parse(line))));
    this.#read.set(name, { text, holdings });
    return holdings;
  }

  #textOf(name: string): string {
    try {
      return readFileSync(join(this.#folder, name), "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return ""; // The process has just ended.
      throw error;
    }
  }

  #remove(): void {
    try {
      rmSync(join(this.#folder, this.#own), { force: true });
      if (this.#others().length === 0) rmSync(this.#folder, { recursive: true, force: true });
    } catch {
      // Another process has just removed it.
    }
  }
}
