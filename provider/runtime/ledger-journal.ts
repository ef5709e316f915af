import { createHash } from "node:crypto";
import { appendFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { SharedClaims } from "./shared-claims";
import { PROVIDER_NAME, type ConfigGetter } from "./settings";
import { codeOf, isAlive, withMachineLock, type LockOptions } from "./machine-lock";

/** What a resource in this operation does with a real object. The strongest claim comes first. */
const HOLDINGS = [
  /** The object was created or adopted. */
  "made",
  /** The object was updated. */
  "changed",
  /** The resource is declared without changes. */
  "unchanged",
  /**
   * The resource is declared with changes. The update or, if the engine chooses one, the replacement hasn't happened
   * yet.
   */
  "changing",
] as const;
export type Holding = (typeof HOLDINGS)[number];

/** Returns the strongest of several claims on an object. */
export function strongest(holdings: readonly (Holding | undefined)[]): Holding | undefined {
  return HOLDINGS.find((each) => holdings.includes(each));
}

const entry = z.tuple([z.string(), z.enum(HOLDINGS)]);

/**
 * Shares a ledger between all of an engine's provider processes. Every explicit provider runs in its own process, so a
 * resource's successor may be created in one process while its predecessor is deleted in another. Each process appends
 * to its own file, in a directory named after the engine's address, and reads the other processes' files.
 */
export class LedgerJournal {
  readonly #folder: string;
  readonly #own = String(process.pid);
  /** The claims of the resources in all of the engine's provider processes. */
  readonly claims: SharedClaims;
  readonly #read = new Map<string, { readonly text: string; readonly holdings: Map<string, Holding> }>();

  /**
   * @param engine the engine's address, as passed to the process.
   * @throws if the directory can't be written to or belongs to another user.
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
    // An earlier process may have had the same PID and died without removing its file.
    rmSync(join(this.#folder, this.#own), { force: true });
    appendFileSync(join(this.#folder, this.#own), "", { mode: 0o600 });
    this.claims = new SharedClaims(this.#folder);
    process.once("exit", () => this.#remove());
  }

  /** Writes synchronously, because the entry must exist before the engine learns of the change. */
  write(object: string, holding: Holding): void {
    appendFileSync(join(this.#folder, this.#own), `${JSON.stringify([object, holding])}\n`);
  }

  /** Returns the other processes' strongest claims on the object. */
  ofOthers(object: string): Holding | undefined {
    return strongest(this.#others().map((name) => this.#holdingsIn(name).get(object)));
  }

  /** Whether another process manages an object whose name begins with this prefix. */
  othersHold(prefix: string): boolean {
    return this.#others().some((name) =>
      [...this.#holdingsIn(name).keys()].some((object) => object.startsWith(prefix)),
    );
  }

  /**
   * Runs work while no other process is running work with this key. Locks even if there's no other process yet, because
   * one may start in the meantime.
   */
  async exclusively<T>(
    key: string,
    options: Pick<LockOptions, "pause" | "say">,
    work: () => Promise<T>,
  ): Promise<T> {
    // A dead holder is detected, and a live one may take a long time, as a migration does.
    return await withMachineLock(key, { ...options, patienceMs: Infinity, folder: this.#folder }, work);
  }

  /**
   * Returns the other processes' files. Files of dead processes belong to an earlier engine that had the same address.
   */
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

/**
 * Opens the journal that an engine's providers share. Without it, a delete could remove an object that another
 * provider's resource has just adopted.
 */
export function sharedLedger(
  engine: string | undefined,
  config: ConfigGetter,
): { readonly journal?: LedgerJournal; readonly problem?: string } {
  try {
    if (engine === undefined) throw new Error("the engine passed no address");
    return { journal: new LedgerJournal(engine) };
  } catch (error) {
    const name = config(PROVIDER_NAME);
    if (name === undefined) return {}; // This is the only provider, unless an explicit one has the same problem.
    const reason = error instanceof Error ? error.message : String(error);
    return {
      problem: `Provider ${JSON.stringify(name)} can't share which objects it owns with the stack's other providers: ${reason}. Set TMPDIR to a writable directory.`,
    };
  }
}
