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
import { readDirectory, type DirectoryOptions } from "./source-directory";
import { SourceError } from "./source-error";
import { BulkFile } from "./source-file";

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
export type Source = {
  /** What messages call it: the path as it was declared, or `entries`. */
  readonly name: string;
  readonly defaults: EntryDefaults;
  /** Begins to read from the start. */
  examine(): Examination;
} & (
  | { readonly kind: "entries"; readonly entries: Readonly<Record<string, unknown>> }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "directory"; readonly options: DirectoryOptions }
);

/** Every entry with what the check says of it, some at a time. @throws SourceError where nothing more can be read. */
export interface Examination extends AsyncIterable<readonly Examined[]> {
  /** Of the file that was read, when all of it was; undefined for other sources. */
  readonly sha256: string | undefined;
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

  if (file !== undefined) return openFileSource({ path: resolve(projectDir, file), name: file }, defaults);
  if (directory !== undefined) {
    const {
      path,
      prefix = "",
      ignore = [],
    } = typeof directory === "string" ? { path: directory } : directory;
    const options = { root: resolve(projectDir, path), name: path, prefix, ignore };
    const examine = (): Examination => examination(readDirectory(options), defaults);
    return { kind: "directory", name: path, defaults, options, examine };
  }
  const program = entries ?? {};
  const given = (): Given[] => Object.entries(program).map(([key, written]) => givenBy(key, written));
  const examine = (): Examination => examination([given()], defaults);
  return { kind: "entries", name: "entries", defaults, entries: program, examine };
}

/** @param file its absolute path, and what messages call it. */
export function openFileSource(
  { path, name }: { readonly path: string; readonly name: string },
  defaults: EntryDefaults = {},
): Source & { readonly kind: "file" } {
  const examine = (): Examination => {
    const bulk = new BulkFile(path, name);
    return examination(bulk.read(), defaults, () => bulk.sha256);
  };
  return { kind: "file", name, defaults, path, examine };
}

function examination(
  given: Iterable<readonly Given[]> | AsyncIterable<readonly Given[]>,
  defaults: EntryDefaults,
  sha256: () => string | undefined = () => undefined,
): Examination {
  const examined = examinedBy(given, defaults);
  return {
    [Symbol.asyncIterator]: () => examined,
    get sha256() {
      return sha256();
    },
  };
}

async function* examinedBy(
  given: Iterable<readonly Given[]> | AsyncIterable<readonly Given[]>,
  defaults: EntryDefaults,
): AsyncGenerator<readonly Examined[]> {
  for await (const some of given)
    yield some.map((one) => ({ given: one, checked: checkEntry(one, defaults) }));
}

/** An entry written in the program: a string, or an object with `value`. */
export function givenBy(key: string, written: unknown): Given {
  const members = isBag(written) ? written : { value: written };
  // An object none of whose members is known was meant to be the value itself.
  const structured = isBag(written) && !PROGRAM_SPELLING.members.some((name) => Object.hasOwn(written, name));
  return structured
    ? { place: {}, key, unreadable: "value is an object; serialise it to a JSON string" }
    : { place: {}, key, members, spelling: PROGRAM_SPELLING };
}
