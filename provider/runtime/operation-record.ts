import { createHash } from "node:crypto";
import { appendFileSync, closeSync, fstatSync, openSync, readSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { parseJson } from "../basics/json";
import { withMachineLock, type LockOptions } from "./machine-lock";
import { PROVIDER_NAME, type ConfigGetter } from "./settings";
import {
  digestName,
  identityOf,
  isOfDead,
  removeUnused,
  SHARED,
  UnsafeDirectoryError,
  userDirectory,
} from "./user-directory";

/** What a resource in this operation does with a real object. The strongest comes first. */
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

/** A resource that declares something. */
interface Declarer {
  /** The resource's name, for messages. */
  readonly name: string;
  /** Identifies the resource within its program, so that it can declare the same again. */
  readonly holder: string;
}

const entry = z.object({
  /** The identity of the process that made the entry. */
  by: z.string(),
  does: z.enum([...HOLDINGS, "reads", "declares"]),
  /** What the entry can be found by: digests, because a declaration or an ID may contain a secret argument. */
  of: z.array(z.string()),
  name: z.string().optional(),
  holder: z.string().optional(),
});
type Entry = z.infer<typeof entry>;

/** How long to wait for another process. */
const PATIENCE_MS = 3_600_000;

/**
 * Records what the resources in this operation declare, and which real objects they manage or read. Every explicit
 * provider runs in its own process. All of an engine's provider processes append to one file, so they agree on which
 * entry came first.
 *
 * To the engine, a rename without an alias, or a move between components, looks like a new resource and a later delete
 * of the same object. That delete must not remove the object that the new resource just adopted. A create must not adopt
 * an object that another resource in the program manages.
 */
export class OperationRecord {
  readonly #root: string | undefined;
  readonly #own = identityOf(process.pid) ?? "";
  /** The name of the file. Undefined if the record is only kept in memory. */
  readonly #file: string | undefined;
  readonly #entries = new Map<string, Entry[]>();
  /** How much of the file was read, up to the end of a complete line. */
  #bytesRead = 0;

  /**
   * @param engine the engine's address, as passed to the process. Undefined if this process is the only one.
   * @throws if the user's directory can't be written to, or another user may control it.
   */
  constructor(engine?: string, root?: string) {
    if (engine === undefined) return;
    this.#root = root;
    this.#file = digestName("operation", `${hostname()} ${engine}`) + SHARED; // Containers may share the directory.
    const present = { by: this.#own }; // Keeps the file as long as this process lives.
    try {
      this.#append(present);
    } catch {
      this.#append(present); // Another process has just removed the directory, because it was empty.
    }
    removeUnused(root);
    process.once("exit", () => removeUnused(root, this.#own));
  }

  /** Records a declaration. Returns the resource that declared the same thing first. */
  declare(what: string, { name, holder }: Declarer): Declarer {
    const of = digestOf(`declaration of ${what}`);
    if (!this.#found(of).some((each) => each.by === this.#own && each.holder === holder))
      this.#enter({ by: this.#own, does: "declares", of: [of], name, holder });
    const first = this.#found(of)[0];
    return { name: first?.name ?? name, holder: first?.holder ?? holder };
  }

  /** Whether a resource has declared this so far. Resources that come later in the program aren't known yet. */
  isDeclared(what: string): boolean {
    return this.#found(digestOf(`declaration of ${what}`)).length > 0;
  }

  hold(type: string, id: string, holding: Holding): void {
    this.#enter({ by: this.#own, does: holding, of: [objectOf(type, id), partOf(type, id)] });
  }

  /**
   * Records that the program reads an object with `get`. If the program used to declare the object, the engine deletes
   * that resource.
   */
  read(type: string, id: string): void {
    this.#enter({ by: this.#own, does: "reads", of: [objectOf(type, id), partOf(type, id)] });
  }

  /** Returns what a resource does with the object. Undefined if none manages it. */
  holding(type: string, id: string): Holding | undefined {
    const found = this.#found(objectOf(type, id));
    return HOLDINGS.find((holding) => found.some(({ does }) => does === holding));
  }

  /**
   * Returns why the object must be kept when a resource that used to manage it is deleted. Undefined if the object may
   * be deleted. An object is also kept if the program reads the whole that it's part of.
   */
  whyKept(type: string, id: string): "adopted" | "read" | undefined {
    const holding = this.holding(type, id);
    if (holding !== undefined && holding !== "changing") return "adopted";
    const isRead = [id, wholeOf(id)].some((each) =>
      this.#found(objectOf(type, each)).some(({ does }) => does === "reads"),
    );
    return isRead ? "read" : undefined;
  }

  /** Whether another process manages or reads a part of this object, or all of it. */
  othersHold(type: string, id: string): boolean {
    return this.#found(partOf(type, id)).some(({ by }) => by !== this.#own);
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
    return await withMachineLock(key, lock, work);
  }

  /** Returns the entries of live processes. A dead one belongs to an earlier engine that had the same address. */
  #found(of: string): Entry[] {
    this.#readOn();
    return (this.#entries.get(of) ?? []).filter(({ by }) => by === this.#own || !isOfDead(by));
  }

  #enter(made: Entry): void {
    if (this.#file === undefined) this.#add(made);
    else this.#append(made);
  }

  #add(found: Entry): void {
    for (const of of found.of) this.#entries.set(of, [...(this.#entries.get(of) ?? []), found]);
  }

  /**
   * Writes in one piece and synchronously, because the entry must exist before the engine learns of the change. Begins
   * with a line break, because a killed process may have left an incomplete line.
   */
  #append(line: object): void {
    appendFileSync(this.#path, `\n${JSON.stringify(line)}\n`, { mode: 0o600 });
  }

  get #path(): string {
    return join(userDirectory(this.#root), this.#file ?? "");
  }

  /**
   * Reads the lines that were appended since the last read. A cleaner of temporary directories may remove the file
   * during a long run. What was read before still holds.
   */
  #readOn(): void {
    if (this.#file === undefined) return;
    const file = openSync(this.#path, "a+", 0o600);
    try {
      const { size } = fstatSync(file);
      if (size < this.#bytesRead) this.#bytesRead = 0; // Another file than the last time.
      const added = Buffer.alloc(size - this.#bytesRead);
      readSync(file, added, 0, added.length, this.#bytesRead);
      const whole = added.subarray(0, added.lastIndexOf("\n") + 1);
      this.#bytesRead += whole.length;
      for (const line of whole.toString("utf8").split("\n")) {
        const found = entry.safeParse(parseJson(line)).data; // Undefined for a line that's incomplete.
        if (found !== undefined) this.#add(found);
      }
    } finally {
      closeSync(file);
    }
  }
}

const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url");

const objectOf = (type: string, id: string): string => digestOf(`${type} ${id}`);

/** An ID such as `<namespace ID>/<UUID>` identifies a part of the object with the first ID. */
const wholeOf = (id: string): string => id.split("/", 1)[0] ?? id;
const partOf = (type: string, id: string): string => digestOf(`part of ${type} ${wholeOf(id)}`);

/**
 * Opens the record that an engine's providers share. Without it, a delete could remove an object that another
 * provider's resource has just adopted.
 */
export function openRecord(
  engine: string | undefined,
  config: ConfigGetter,
  root?: string,
): { readonly record?: OperationRecord; readonly problem?: string } {
  try {
    if (engine === undefined) throw new Error("the engine passed no address");
    return { record: new OperationRecord(engine, root) };
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
