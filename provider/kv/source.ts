import { resolve } from "node:path";
import { isBag } from "../runtime/values";
import {
  checkDefaults,
  checkEntry,
  PROGRAM_SPELLING,
  type Checked,
  type EntryDefaults,
  type Given,
} from "./check-entry";
import type { Entry } from "./entry";
import { readDirectory } from "./source-directory";
import { SourceError } from "./source-error";
import { readBulkFile } from "./source-file";

export { SourceError } from "./source-error";

/** A key per file. */
export interface DirectoryDeclaration {
  /** Relative to the project. */
  readonly path: string;
  /** Stands before every key, as it is: no slash is added. */
  readonly prefix?: string | undefined;
  /** Patterns of a .gitignore, relative to the directory. */
  readonly ignore?: readonly string[] | undefined;
}

/** Where the entries of a KvEntries come from: one of `entries`, `file` and `directory`. */
export interface Declaration {
  readonly entries?: Readonly<Record<string, unknown>> | undefined;
  readonly file?: string | undefined;
  readonly directory?: string | DirectoryDeclaration | undefined;
  readonly defaults?: EntryDefaults | undefined;
}

/** Declared entries, to be read as often as needed and never held whole. */
export interface Source {
  readonly kind: "entries" | "file" | "directory";
  /** What messages call it: the path as it was declared, or `entries`. */
  readonly name: string;
  /** Every entry, checked one by one. @throws SourceError at the first that cannot be taken. */
  read(): AsyncGenerator<Entry>;
  /** Every entry with what is wrong with it. @throws SourceError where nothing more can be read. */
  examine(): AsyncGenerator<Examined>;
}

/** An entry as the source has it, and what the check says of it. */
export interface Examined {
  readonly given: Given;
  readonly checked: Checked;
}

/** @throws SourceError for a declaration that names no source or several, or has defaults out of bounds. */
export function openSource(declaration: Declaration, projectDir: string): Source {
  const { entries, file, directory, defaults = {} } = declaration;
  const named = Object.entries({ entries, file, directory }).filter(([, value]) => value !== undefined);
  const [first] = named;
  if (first === undefined || named.length > 1) {
    const given = first === undefined ? "none is given" : `${named.map(([n]) => n).join(" and ")} are given`;
    throw new SourceError(`write exactly one of entries, file and directory; ${given}`);
  }
  const [problem] = checkDefaults(defaults);
  if (problem !== undefined) throw new SourceError(problem);

  if (file !== undefined) {
    return source("file", file, defaults, () => readBulkFile(resolve(projectDir, file), file));
  }
  if (directory !== undefined) {
    const {
      path,
      prefix = "",
      ignore = [],
    } = typeof directory === "string" ? { path: directory } : directory;
    const root = resolve(projectDir, path);
    return source("directory", path, defaults, () => readDirectory({ root, name: path, prefix, ignore }));
  }
  return source("entries", "entries", defaults, () => readProgram(entries ?? {}));
}

function source(
  kind: Source["kind"],
  name: string,
  defaults: EntryDefaults,
  given: () => AsyncIterable<Given> | Iterable<Given>,
): Source {
  return {
    kind,
    name,
    async *read() {
      for await (const one of given()) {
        const checked = checkEntry(one, defaults);
        if ("problems" in checked) throw new SourceError(checked.problems[0] ?? `${name} cannot be read`);
        yield checked.entry;
      }
    },
    async *examine() {
      for await (const one of given()) yield { given: one, checked: checkEntry(one, defaults) };
    },
  };
}

/** Entries written in the program: a string, or an object with `value`. */
function* readProgram(entries: Readonly<Record<string, unknown>>): Generator<Given> {
  for (const [key, written] of Object.entries(entries)) {
    const members = isBag(written) ? written : { value: written };
    // An object none of whose members is known was meant to be the value itself.
    const structured =
      isBag(written) && !PROGRAM_SPELLING.members.some((name) => Object.hasOwn(written, name));
    yield structured
      ? { place: {}, key, unreadable: "value is an object; serialise it to a JSON string" }
      : { place: {}, key, members, spelling: PROGRAM_SPELLING };
  }
}
