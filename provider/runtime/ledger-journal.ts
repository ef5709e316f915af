import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { SharedClaims } from "./shared-claims";
import { PROVIDER_NAME, type ConfigGetter } from "./settings";
import { withMachineLock, type LockOptions } from "./machine-lock";
import {
  codeOf,
  digestName,
  filesIn,
  identityOf,
  removeIfEmpty,
  SHARED,
  UnsafeDirectoryError,
  userDirectory,
} from "./user-directory";

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

/** How long to wait for another of the engine's processes. */
const PATIENCE_MS = 3_600_000;

const entry = z.tuple([z.string(), z.enum(HOLDINGS)]);

/**
 * Shares a ledger between all of an engine's provider processes. Every explicit provider runs in its own process, so a
 * resource's successor may be created in one process while its predecessor is deleted in another. Each process appends
 * to its own file, named after the engine's address, and reads the other processes' files.
 */
export class LedgerJournal {
  readonly #root: string | undefined;
  /** What the names of this engine's files begin with. */
  readonly #engine: string;
  readonly #own: string;
  /** The claims of the resources in all of the engine's provider processes. */
  readonly claims: SharedClaims;
  readonly #read = new Map<string, { readonly text: string; readonly holdings: Map<string, Holding> }>();

  /**
   * @param engine the engine's address, as passed to the process.
   * @throws if the user's directory can't be written to, or another user may control it.
   */
  constructor(engine: string, root?: string) {
    this.#root = root;
    this.#engine = digestName("ledger", `${hostname()} ${engine}`); // Containers may share the directory.
    this.#own = `${this.#engine}.${identityOf(process.pid) ?? ""}`;
    try {
      this.#append("");
    } catch {
      this.#append(""); // Another process has just removed the directory, because it was empty.
    }
    this.claims = new SharedClaims(() => join(this.#folder, this.#engine + SHARED));
    process.once("exit", () => this.#remove());
  }

  get #folder(): string {
    return userDirectory(this.#root);
  }

  #append(text: string): void {
    appendFileSync(join(this.#folder, this.#own), text, { mode: 0o600 });
  }

  /** Writes synchronously, because the entry must exist before the engine learns of the change. */
  write(object: string, holding: Holding): void {
    this.#append(`${JSON.stringify([object, holding])}\n`);
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
    const lock = { ...options, patienceMs: PATIENCE_MS, root: this.#root };
    return await withMachineLock(`${this.#engine} ${key}`, lock, work);
  }

  /** Returns the other processes' files. */
  #others(): string[] {
    return filesIn(this.#folder, this.#engine).filter((name) => name !== this.#own);
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
      const folder = this.#folder;
      rmSync(join(folder, this.#own), { force: true });
      filesIn(folder, "");
      removeIfEmpty(folder);
    } catch {
      // Another process has just removed the directory, or it's no longer safe.
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
  root?: string,
): { readonly journal?: LedgerJournal; readonly problem?: string } {
  try {
    if (engine === undefined) throw new Error("the engine passed no address");
    return { journal: new LedgerJournal(engine, root) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof UnsafeDirectoryError) return { problem: reason };
    const name = config(PROVIDER_NAME);
    if (name === undefined) return {}; // This is the only provider, unless an explicit one has the same problem.
    return {
      problem: `Provider ${JSON.stringify(name)} can't share which objects it owns with the stack's other providers: ${reason}. Set TMPDIR to a writable directory.`,
    };
  }
}
