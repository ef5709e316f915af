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
  changeOf,
  type NamespaceRecord,
  namespaceRecord,
  recordOf,
} from "./entities";

/** The schema of a line in a namespace's file. */
const line = z.union([entryRecord, z.strictObject({ key: z.string(), deleted: z.literal(true) })]);

const TITLES_FILE = "namespaces.json";
const NEWLINE = 0x0a;
const PART_CHARACTERS = 4_000_000;

interface StoredNamespace extends NamespaceRecord {
  entries(): Iterable<Change>;
}

/**
 * Stores KV in a directory: a small file with the namespaces, and a file for each namespace with one line per written
 * or deleted key. A write appends lines before it's answered, so its cost doesn't depend on the number of keys.
 * Outdated lines are dropped when the directory is next opened. Each file is read as a whole, so it may have up to 2
 * GB.
 */
export class Journal {
  readonly #folder: string;
  readonly #store: ValueStore;

  constructor(persistTo: string, store: ValueStore) {
    this.#store = store;
    this.#folder = join(persistTo, "kv");
  }

  /** Whether the directory contains any data. */
  exists(): boolean {
    return existsSync(this.#file(TITLES_FILE));
  }

  namespaces(): NamespaceRecord[] {
    const file = this.#file(TITLES_FILE);
    try {
      return z.array(namespaceRecord).parse(JSON.parse(readFileSync(file, "utf8")));
    } catch (cause) {
      throw invalidFile(file, cause);
    }
  }

  /** Yields all changes to a namespace, oldest first. Removes an incomplete last line. */
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

  /** Stores the namespaces' IDs and titles, and deletes the files of namespaces that no longer exist. */
  rename(namespaces: readonly NamespaceRecord[]): void {
    const file = this.#file(TITLES_FILE);
    const titles = namespaces.map(({ id, title }) => ({ id, title }));
    writeFileSync(`${file}.new`, JSON.stringify(titles, null, 2));
    renameSync(`${file}.new`, file);

    const wanted = new Set([TITLES_FILE, ...titles.map(({ id }) => `${id}.jsonl`)]);
    for (const name of readdirSync(this.#folder)) if (!wanted.has(name)) rmSync(this.#file(name));
  }

  replaceEntries(namespace: StoredNamespace): void {
    const file = this.#entriesFile(namespace.id);
    writeLines(`${file}.new`, "w", namespace.entries());
    renameSync(`${file}.new`, file);
  }

  /** Replaces all stored data. */
  replace(namespaces: readonly StoredNamespace[]): void {
    mkdirSync(this.#folder, { recursive: true });
    for (const namespace of namespaces) this.replaceEntries(namespace);
    this.rename(namespaces);
  }

  #parse(file: string, text: string): Change {
    try {
      const parsed = line.parse(JSON.parse(text));
      return "deleted" in parsed ? [bytesOf(parsed.key), undefined] : changeOf(parsed, this.#store);
    } catch (cause) {
      throw invalidFile(file, cause);
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
    const record = entry === undefined ? { key: textOf(key), deleted: true } : recordOf(key, entry);
    part += `${JSON.stringify(record)}\n`;
    if (part.length < PART_CHARACTERS) continue;
    appendFileSync(descriptor, part);
    part = "";
  }
  appendFileSync(descriptor, part);
  closeSync(descriptor);
}

function invalidFile(file: string, cause: unknown): LocalApiStartError {
  return new LocalApiStartError(
    `${file} is not valid data of the local API. Delete its directory, or use another one.`,
    { cause },
  );
}
