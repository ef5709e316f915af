import { hash } from "node:crypto";
import { resolve } from "node:path";
import { z } from "zod";
import type { Context } from "../runtime/lifecycle";
import { canonicalJson, isJsonObject, sameJson, type JsonObject } from "../basics/json";
import { hasUnknown } from "../runtime/engine-values";
import { hidesKeys } from "./address";
import { readCatalog, type Catalog, type Source, type Writable } from "./catalog";
import { checkDefaults, PROGRAM_SPELLING, type EntryDefaults, type RawEntry } from "./entry";
import { DirectorySource } from "./source-directory";
import { FileSource } from "./source-file";
import { SourceError } from "./source-handle";

/** A declared directory. Each of its files becomes one key. */
export interface DirectoryDeclaration {
  /** The directory's path, relative to the project. */
  readonly path: string;
  /** Text before each file's relative path in its key; no slash is added. */
  readonly prefix?: string | undefined;
  /** Files to leave out: .gitignore patterns, relative to the directory. */
  readonly ignore?: readonly string[] | undefined;
}

/** The source of a KvEntries: one of `entries`, `file` and `directory`. */
export interface Declaration {
  readonly entries?: Readonly<Record<string, unknown>> | undefined;
  readonly file?: string | undefined;
  readonly directory?: string | DirectoryDeclaration | undefined;
  readonly defaults?: EntryDefaults | undefined;
}

/** @throws SourceError if the defaults are invalid. */
export function openSource(declaration: Declaration, projectDir = process.cwd()): Source {
  const { entries = {}, file, directory, defaults = {} } = declaration;
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
    read: () => [Object.entries(program).map(([key, written]) => programEntry(key, written))],
    fill: (body, rows) => {
      for (const { entry } of rows) if (entry !== undefined) body.add(entry);
      return Promise.resolve();
    },
  };
}

/** Parses an inline entry: a string, or an object with `value`. */
function programEntry(key: string, written: unknown): RawEntry {
  // An object without any known property was probably meant as the value itself.
  const isValue =
    isJsonObject(written) && !PROGRAM_SPELLING.members.some((name) => Object.hasOwn(written, name));
  return isValue
    ? { place: {}, key, unreadable: "value is an object; serialize it to a JSON string" }
    : {
        place: {},
        key,
        members: isJsonObject(written) ? written : { value: written },
        spelling: PROGRAM_SPELLING,
      };
}

/**
 * Returns the part of a declaration that's known in a preview, and whether that's all of it. Inline values may be
 * outputs of other resources, which aren't known yet.
 */
export function knownPart(declaration: Declaration): [known: Declaration, isWhole: boolean] {
  const entries: unknown = declaration.entries;
  if (!hasUnknown(entries)) return [declaration, true];
  const known = isJsonObject(entries)
    ? Object.entries(entries).filter(([, entry]) => !hasUnknown(entry))
    : [];
  return [{ ...declaration, entries: Object.fromEntries(known) }, false];
}

/** What `check` records about a file. */
const recordedFile = z.object({
  keys: z.number(),
  bytes: z.number(),
  digest: z.string().regex(/^[0-9a-f]{64}$/), // After a partial failure, this isn't a digest.
  fileHash: z.string(),
});

/**
 * Returns the recorded form of a file's hash. If the way files are read changes, change the prefix, so that old hashes
 * no longer match.
 */
export function fileHash(sha256: string): string {
  return `sha256:${sha256}`;
}

/**
 * Returns what the state records about a file if its bytes haven't changed, so that it doesn't have to be parsed.
 * @throws SourceError
 */
export async function unchangedFile(
  declaration: Declaration,
  olds: JsonObject,
): Promise<z.infer<typeof recordedFile> | undefined> {
  const recorded = recordedFile.safeParse(olds);
  if (!recorded.success || !sameJson(olds["defaults"], declaration.defaults)) return undefined;
  if (declaration.file === undefined) return undefined;
  return await withSource(declaration, async (source) =>
    recorded.data.fileHash === fileHash((await source.sha256?.()) ?? "") ? recorded.data : undefined,
  );
}

type SourceContext = Pick<Context, "once" | "forget" | "isSecret">;

/** Reads a source, once per operation. @throws SourceError */
export async function loadCatalog(ctx: SourceContext, declaration: Declaration): Promise<Catalog> {
  return await ctx.once(cacheKeyOf(ctx, declaration), () =>
    withSource(declaration, (source) => readCatalog(source, undefined, hidesKeys(ctx))),
  );
}

/** A source that has been read, and its entries. */
export interface Declared {
  readonly catalog: Catalog;
  readonly entries: Writable;
}

/**
 * Runs `work` with the entries if the source hasn't changed since `check` read it. A file stays open, so that exactly
 * what was checked is sent.
 *
 * @throws if the source has changed, before anything is sent.
 */
export async function withCheckedSource<T>(
  ctx: SourceContext,
  declaration: Declaration,
  digest: unknown,
  work: (declared: Declared) => Promise<T>,
): Promise<T> {
  return await withSource(declaration, async (source) => {
    const kept = await loadCatalog(ctx, declaration);
    ctx.forget(cacheKeyOf(ctx, declaration)); // It may be large, and nothing else needs it.
    const isSame = kept.isInMemory || (await isUnchanged(source, kept));
    const catalog = isSame ? kept : await readCatalog(source, undefined, hidesKeys(ctx));
    const [problem] = catalog.problems;
    if (problem !== undefined) throw new Error(`${problem}. Nothing was sent.`);
    if (catalog.digest !== digest) {
      throw new Error(
        `${source.name} has changed since it was checked. Nothing was sent. Run the command again once the source has stopped changing.`,
      );
    }
    return await work({ catalog, entries: source });
  });
}

/** Whether a file is unchanged since it was read. */
async function isUnchanged(source: Source, { sha256 }: Catalog): Promise<boolean> {
  return sha256 !== undefined && sha256 === (await source.sha256?.());
}

async function withSource<T>(declaration: Declaration, work: (source: Source) => Promise<T>): Promise<T> {
  const { entries, file, directory, defaults } = declaration;
  const source = openSource({ entries, file, directory, defaults });
  try {
    return await work(source);
  } finally {
    await source.close?.();
  }
}

/** Returns the cache key of a declaration: a digest, because inline entries may be long. */
function cacheKeyOf(ctx: SourceContext, { entries, file, directory, defaults }: Declaration): string {
  const digest = hash("sha256", canonicalJson({ entries, file, directory, defaults }));
  return `catalog ${digest} ${hidesKeys(ctx) ? "with secret keys" : ""}`; // They may be in its messages.
}
