import { hash } from "node:crypto";
import { resolve } from "node:path";
import { z } from "zod";
import type { Context } from "../runtime/lifecycle";
import { canonicalJson, hasUnknown, isJsonObject, sameJson, type JsonObject } from "../runtime/values";
import { readCatalog, type Catalog, type Source, type Writable } from "./catalog";
import { checkDefaults, PROGRAM_SPELLING, type EntryDefaults, type Given } from "./entry";
import { DirectorySource } from "./source-directory";
import { FileSource } from "./source-file";
import { SourceError } from "./source-handle";

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

/** @throws SourceError for a declaration that names no source or several, or has defaults out of bounds. */
export function openSource(declaration: Declaration, projectDir = process.cwd()): Source {
  const { entries = {}, file, directory, defaults = {} } = declaration;
  const named = (["entries", "file", "directory"] as const).filter((name) => declaration[name] !== undefined);
  if (named.length !== 1) {
    const given = named.length === 0 ? "none is given" : `${named.join(" and ")} are given`;
    throw new SourceError(`write exactly one of entries, file and directory; ${given}`);
  }
  const [problem] = checkDefaults(defaults);
  if (problem !== undefined) throw new SourceError(problem);

  if (file !== undefined) return new FileSource({ path: resolve(projectDir, file), name: file }, defaults);
  if (directory === undefined) return programSource(entries, defaults);
  const { path, prefix = "", ignore = [] } = typeof directory === "string" ? { path: directory } : directory;
  return new DirectorySource({ root: resolve(projectDir, path), name: path, prefix, ignore }, defaults);
}

function programSource(program: Readonly<Record<string, unknown>>, defaults: EntryDefaults): Source {
  return {
    kind: "entries",
    name: "entries",
    defaults,
    read: () => [Object.entries(program).map(([key, written]) => givenBy(key, written))],
    fill: (body, rows) => {
      for (const { entry } of rows) if (entry !== undefined) body.add(entry);
      return Promise.resolve();
    },
  };
}

/** An entry written in the program: a string, or an object with `value`. */
function givenBy(key: string, written: unknown): Given {
  // An object none of whose members is known was meant to be the value itself.
  const isValue =
    isJsonObject(written) && !PROGRAM_SPELLING.members.some((name) => Object.hasOwn(written, name));
  return isValue
    ? { place: {}, key, unreadable: "value is an object; serialise it to a JSON string" }
    : {
        place: {},
        key,
        members: isJsonObject(written) ? written : { value: written },
        spelling: PROGRAM_SPELLING,
      };
}

/** The declaration as far as it is known, and whether that is all of it. Values of a program may come from elsewhere. */
export function knownPart(declaration: Declaration): [known: Declaration, isWhole: boolean] {
  const entries: unknown = declaration.entries;
  if (!hasUnknown(entries)) return [declaration, true];
  const known = isJsonObject(entries)
    ? Object.entries(entries).filter(([, entry]) => !hasUnknown(entry))
    : [];
  return [{ ...declaration, entries: Object.fromEntries(known) }, false];
}

/** What `check` records of a file. */
const recordedFile = z.object({
  keys: z.number(),
  bytes: z.number(),
  digest: z.string().regex(/^[0-9a-f]{64}$/), // Not so where something was left undone.
  fileHash: z.string(),
});

/** How the hash of a file is recorded. Another manner of reading needs another word in front: what it finds may differ. */
export function fileHash(sha256: string): string {
  return `sha256:${sha256}`;
}

/** What is recorded of a file that is the same, byte by byte: it need not be read entry by entry. @throws SourceError */
export async function unchangedFile(
  declaration: Declaration,
  olds: JsonObject,
): Promise<z.infer<typeof recordedFile> | undefined> {
  const recorded = recordedFile.safeParse(olds);
  if (!recorded.success || !sameJson(olds["defaults"], declaration.defaults)) return undefined;
  if (declaration.file === undefined) return undefined;
  return await reading(declaration, async (source) =>
    recorded.data.fileHash === fileHash((await source.sha256?.()) ?? "") ? recorded.data : undefined,
  );
}

/** Reads a source, and remembers for this operation what it holds. @throws SourceError */
export async function look(ctx: Pick<Context, "shared">, declaration: Declaration): Promise<Catalog> {
  const catalog = await reading(declaration, (source) => readCatalog(source));
  keptIn(ctx).keep(keyOf(declaration), catalog);
  return catalog;
}

/** What was read of a source in this operation already, or else now. @throws SourceError */
export async function known(ctx: Pick<Context, "shared">, declaration: Declaration): Promise<Catalog> {
  return keptIn(ctx).get(keyOf(declaration)) ?? (await look(ctx, declaration));
}

/** A source that was read, and the entries that can be sent from it. */
export interface Declared {
  readonly catalog: Catalog;
  readonly entries: Writable;
}

/**
 * Does `work` with the entries, if the source still is what `check` saw. A file is held open, so that nothing else is
 * sent than what was looked at here.
 *
 * @throws where it is not: nothing was sent.
 */
export async function withDeclared<T>(
  ctx: Pick<Context, "shared">,
  declaration: Declaration,
  digest: unknown,
  work: (declared: Declared) => Promise<T>,
): Promise<T> {
  return await reading(declaration, async (source) => {
    const kept = keptIn(ctx).take(keyOf(declaration));
    const isSame = kept?.isHeld === true || (kept !== undefined && (await isUnchanged(source, kept)));
    const catalog = isSame ? kept : await readCatalog(source);
    const [problem] = catalog.problems;
    if (problem !== undefined) throw new Error(`${problem} Nothing was sent.`);
    if (catalog.digest !== digest) {
      throw new Error(
        `${source.name} has changed since it was checked: nothing was sent. Run the command again when it is complete.`,
      );
    }
    return await work({ catalog, entries: source });
  });
}

/** Whether a file is the one that was read. */
async function isUnchanged(source: Source, { sha256 }: Catalog): Promise<boolean> {
  return sha256 !== undefined && sha256 === (await source.sha256?.());
}

async function reading<T>(declaration: Declaration, work: (source: Source) => Promise<T>): Promise<T> {
  const { entries, file, directory, defaults } = declaration;
  const source = openSource({ entries, file, directory, defaults });
  try {
    return await work(source);
  } finally {
    await source.close?.();
  }
}

/** Bytes that catalogs of one operation may take; a source beyond is read again. */
const KEPT_BYTES = 250_000_000;
const BYTES_A_ROW = 250;

/** By what is declared. */
class KeptCatalogs {
  readonly #catalogs = new Map<string, Catalog>();

  get(key: string): Catalog | undefined {
    return this.#catalogs.get(key);
  }

  keep(key: string, catalog: Catalog): void {
    this.#catalogs.delete(key);
    this.#catalogs.set(key, catalog);
    let total = 0;
    for (const [other, { rows, bytes, isHeld }] of [...this.#catalogs].reverse()) {
      total += rows.size * BYTES_A_ROW + (isHeld ? bytes : 0);
      if (total > KEPT_BYTES) this.#catalogs.delete(other);
    }
  }

  take(key: string): Catalog | undefined {
    const kept = this.#catalogs.get(key);
    this.#catalogs.delete(key);
    return kept;
  }
}

function keptIn(ctx: Pick<Context, "shared">): KeptCatalogs {
  return ctx.shared("catalogs of key-value entries", () => new KeptCatalogs());
}

/** A digest, since entries of a program may be long. */
function keyOf({ entries, file, directory, defaults }: Declaration): string {
  return hash("sha256", canonicalJson({ entries, file, directory, defaults }));
}

/** Which keys a KvEntries declares: their names, or where they are read from. */
export const declaredKeysOf = z.array(
  z.object({
    keys: z.array(z.string()).optional(),
    file: z.string().optional(),
    directory: z
      .union([
        z.string(),
        z.object({
          path: z.string(),
          prefix: z.string().optional(),
          ignore: z.array(z.string()).readonly().optional(),
        }),
      ])
      .optional(),
  }),
);
export type DeclaredKeys = z.infer<typeof declaredKeysOf>[number];

/** The declared keys, as far as they can be read: the check says what is wrong with a source. */
export async function declaredKeys({
  keys: names,
  ...declaration
}: DeclaredKeys): Promise<ReadonlySet<string>> {
  const keys = new Set(names);
  if (names !== undefined) return keys;
  try {
    await reading(declaration, async (source) => {
      for await (const some of source.keys?.() ?? keysIn(source)) some.forEach((key) => keys.add(key));
    });
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
  }
  return keys;
}

async function* keysIn(source: Source): AsyncGenerator<readonly string[]> {
  for await (const some of source.read())
    yield some.flatMap(({ key }) => (typeof key === "string" ? [key] : []));
}
