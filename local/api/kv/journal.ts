import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { LocalApiStartError } from "../lease";
import { bytesOf, textOf, type ValueStore } from "./value";
import {
  type Change,
  entryRecord,
  fromRecord,
  type NamespaceRecord,
  namespaceRecord,
  toRecord,
} from "./entities";

/** A line of a namespace's file. */
const line = z.union([entryRecord, z.strictObject({ key: z.string(), deleted: z.literal(true) })]);

const TITLES_FILE = "namespaces.json";
const NEWLINE = 0x0a;
const PART_CHARACTERS = 4_000_000;

interface Kept extends NamespaceRecord {
  entries(): Iterable<Change>;
}

/**
 * KV in a folder: the namespaces in one small file, and beside it one file each with a line per written or deleted key.
 * A write appends its lines before it is answered, so a million keys cost as much to keep as a thousand, a thousand
 * times; what later lines made stale goes when the folder is next opened. A file is read whole: up to 2 GB.
 */
export class Journal {
  readonly #folder: string;
  readonly #store: ValueStore;

  constructor(persistTo: string, store: ValueStore) {
    this.#store = store;
    this.#folder = join(persistTo, "kv");
  }

  /** Whether an earlier run, or this one, left anything. */
  exists(): boolean {
    return existsSync(this.#file(TITLES_FILE));
  }

  namespaces(): NamespaceRecord[] {
    const file = this.#file(TITLES_FILE);
    try {
      return z.array(namespaceRecord).parse(JSON.parse(readFileSync(file, "utf8")));
    } catch (cause) {
      throw notOurs(file, cause);
    }
  }

  /** Everything that was ever written to a namespace, oldest first. A last line that was cut short is cut off. */
  *changes(id: string): Iterable<Change> {
    const file = this.#entriesFile(id);
    if (!existsSync(file)) return;
    const content = readFileSync(file);
    let start = 0;
    for (let end = content.indexOf(NEWLINE); end !== -1; end = content.indexOf(NEWLINE, start)) {
      yield this.#parse(file, content.toString("utf8", start, end));
      start = end + 1;
    }
    if (start < content.length) truncateSync(file, start);
  }

  append(id: string, changes: Iterable<Change>): void {
    writeLines(this.#entriesFile(id), "a", changes);
  }

  /** Names the namespaces that are there; the file of any other goes. */
  rename(namespaces: readonly NamespaceRecord[]): void {
    const file = this.#file(TITLES_FILE);
    const titles = namespaces.map(({ id, title }) => ({ id, title }));
    writeFileSync(`${file}.new`, JSON.stringify(titles, null, 2));
    renameSync(`${file}.new`, file);

    const wanted = new Set([TITLES_FILE, ...titles.map(({ id }) => `${id}.jsonl`)]);
    for (const name of readdirSync(this.#folder)) if (!wanted.has(name)) rmSync(this.#file(name));
  }

  replaceEntries(namespace: Kept): void {
    const file = this.#entriesFile(namespace.id);
    writeLines(`${file}.new`, "w", namespace.entries());
    renameSync(`${file}.new`, file);
  }

  /** Puts these in place of all that was there. */
  replace(namespaces: readonly Kept[]): void {
    mkdirSync(this.#folder, { recursive: true });
    for (const namespace of namespaces) this.replaceEntries(namespace);
    this.rename(namespaces);
  }

  #parse(file: string, text: string): Change {
    try {
      const parsed = line.parse(JSON.parse(text));
      return "deleted" in parsed ? [bytesOf(parsed.key), undefined] : fromRecord(parsed, this.#store);
    } catch (cause) {
      throw notOurs(file, cause);
    }
  }

  #entriesFile(id: string): string {
    return this.#file(`${id}.jsonl`);
  }

  #file(name: string): string {
    return join(this.#folder, name);
  }
}

function writeLines(file: string, flags: "a" | "w", changes: Iterable<Change>): void {
  const descriptor = openSync(file, flags);
  let part = "";
  for (const [key, entry] of changes) {
    const record = entry === undefined ? { key: textOf(key), deleted: true } : toRecord(key, entry);
    part += `${JSON.stringify(record)}\n`;
    if (part.length < PART_CHARACTERS) continue;
    appendFileSync(descriptor, part);
    part = "";
  }
  appendFileSync(descriptor, part);
  closeSync(descriptor);
}

function notOurs(file: string, cause: unknown): LocalApiStartError {
  return new LocalApiStartError(
    `${file} is not a state of this local API: delete its folder, or persist to another one.`,
    { cause },
  );
}
