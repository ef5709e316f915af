import { z } from "zod";
import type { Context } from "../runtime/lifecycle";
import { canonicalJson, hasUnknown, isBag, sameJson, type Bag } from "../runtime/values";
import { catalogOf, type Catalog } from "./catalog";
import { openSource, type Declaration, type Source } from "./source";
import { SourceHandle } from "./source-handle";
import { writableOf, type Writable } from "./writable";

/** Rows kept of sources that were read in this operation, about 250 bytes each; a source beyond is read again. */
const KEPT_ROWS = 1_000_000;

/** A source that was read, and the entries that can be sent from it. */
export interface Declared {
  readonly catalog: Catalog;
  readonly entries: Writable;
}

/** Opens the declaration of a resource; paths are relative to the program's folder. @throws SourceError */
function sourceOf({ entries, file, directory, defaults }: Declaration): Source {
  return openSource({ entries, file, directory, defaults }, process.cwd());
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
  olds: Bag,
): Promise<z.infer<typeof recordedFile> | undefined> {
  const recorded = recordedFile.safeParse(olds);
  if (!recorded.success || !sameJson(olds["defaults"], declaration.defaults)) return undefined;
  const source = sourceOf(declaration);
  if (source.kind !== "file") return undefined;
  const file = await SourceHandle.open(source.path, source.name);
  try {
    return recorded.data.fileHash === fileHash(await file.sha256()) ? recorded.data : undefined;
  } finally {
    await file.close();
  }
}

/** The declaration as far as it is known, and whether that is all of it. Values of a program may come from elsewhere. */
export function knownPart(declaration: Declaration): [known: Declaration, isWhole: boolean] {
  const entries: unknown = declaration.entries;
  if (!hasUnknown(entries)) return [declaration, true];
  const known = isBag(entries) ? Object.entries(entries).filter(([, entry]) => !hasUnknown(entry)) : [];
  return [{ ...declaration, entries: Object.fromEntries(known) }, false];
}

/** Reads a source, and remembers for this operation what it holds. @throws SourceError */
export async function look(ctx: Pick<Context, "shared">, declaration: Declaration): Promise<Catalog> {
  const catalog = await catalogOf(sourceOf(declaration));
  keptIn(ctx).keep(declaration, catalog);
  return catalog;
}

/** What was read of a source in this operation already, or else now. @throws SourceError */
export async function known(ctx: Pick<Context, "shared">, declaration: Declaration): Promise<Catalog> {
  return keptIn(ctx).of(declaration) ?? (await look(ctx, declaration));
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
  const source = sourceOf(declaration);
  const file = source.kind === "file" ? await SourceHandle.open(source.path, source.name) : undefined;
  try {
    const sha256 = await file?.sha256();
    let catalog = keptIn(ctx).of(declaration);
    if (catalog === undefined || sha256 === undefined || catalog.sha256 !== sha256) {
      catalog = await catalogOf(source);
    }
    keptIn(ctx).forget(declaration);
    const [problem] = catalog.problems;
    if (problem !== undefined) throw new Error(`${problem} Nothing was sent.`);
    if (catalog.digest !== digest || catalog.sha256 !== sha256) {
      throw new Error(
        `${source.name} has changed since it was checked: nothing was sent. Run the command again when it is complete.`,
      );
    }
    return await work({ catalog, entries: writableOf(source, file) });
  } finally {
    await file?.close();
  }
}

class KeptCatalogs {
  readonly #catalogs = new Map<string, Catalog>();

  of(declaration: Declaration): Catalog | undefined {
    const key = keyOf(declaration);
    return key === undefined ? undefined : this.#catalogs.get(key);
  }

  keep(declaration: Declaration, catalog: Catalog): void {
    const key = keyOf(declaration);
    if (key === undefined) return;
    this.#catalogs.delete(key);
    this.#catalogs.set(key, catalog);
    let kept = 0;
    for (const [other, { rows }] of [...this.#catalogs].reverse()) {
      kept += rows.size;
      if (kept > KEPT_ROWS) this.#catalogs.delete(other);
    }
  }

  forget(declaration: Declaration): void {
    const key = keyOf(declaration);
    if (key !== undefined) this.#catalogs.delete(key);
  }
}

function keptIn(ctx: Pick<Context, "shared">): KeptCatalogs {
  return ctx.shared("catalogs of key-value entries", () => new KeptCatalogs());
}

/** Entries of a program are at hand: they are read again. */
function keyOf({ entries, file, directory, defaults }: Declaration): string | undefined {
  return entries === undefined ? canonicalJson({ file, directory, defaults }) : undefined;
}
