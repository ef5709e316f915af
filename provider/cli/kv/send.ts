import { catalogOf, type Catalog, type Row } from "../../kv/catalog";
import { count, showKey } from "../../kv/check-entry";
import { compare } from "../../kv/plan";
import type { Source } from "../../kv/source";
import { SourceHandle } from "../../kv/source-handle";
import { type BulkOutcome, upload } from "../../kv/bulk";
import { writableOf, type Writable } from "../../kv/writable";
import { CommandError, InterruptedError, UnfinishedError } from "../../terminal/errors";
import { tell, type Io } from "../../terminal/io";
import type { NamespaceSession } from "./session";

/** Entries that were read and checked, and can be sent. */
export interface Checked {
  readonly catalog: Catalog;
  readonly entries: Writable;
  /** Which of them to send: those that have not expired. */
  readonly rows: readonly Row[];
  readonly expired: number;
}

/** What is wrong with entries, a sentence each. */
export class EntriesError extends CommandError {
  constructor(readonly problems: readonly string[]) {
    super(`${problems.join("\n  ")}\n  Nothing was sent.`);
  }
}

/**
 * Does `work` with the entries of a source as it is now. Entries are checked before the first is sent, and their values
 * read again when they are: a file is held open and must not change.
 *
 * @throws CommandError naming what is wrong with the entries.
 */
export async function withEntries<T>(source: Source, work: (checked: Checked) => Promise<T>): Promise<T> {
  const file = source.kind === "file" ? await SourceHandle.open(source.path, source.name) : undefined;
  try {
    const catalog = await catalogOf(source);
    if (catalog.problems.length > 0) throw new EntriesError(catalog.problems);
    if ((await file?.sha256()) !== catalog.sha256)
      throw new CommandError(`${source.name} changed while it was read: nothing was sent.`);
    const { writes: rows, past: expired } = compare(catalog, new Map());
    return await work({ catalog, entries: writableOf(source, file), rows, expired });
  } finally {
    await file?.close();
  }
}

/** Writes the entries by the provider's own batches, and calls `onWritten` with how many more were. */
export async function send(
  { ctx, accountId, namespaceId }: NamespaceSession,
  { entries, rows }: Checked,
  onWritten: (more: number) => void = () => undefined,
): Promise<BulkOutcome> {
  return await upload({
    ctx,
    accountId,
    namespaceId,
    entries,
    rows,
    onDone: (some) => onWritten(some.length),
  });
}

const SHOWN_KEYS = 10;

/**
 * Names what was not done.
 *
 * @param counts as in `Wrote 3 of 5 entries`.
 * @throws for an outcome that is not all it was to be.
 */
export function demandAll(io: Io, { failed, error }: BulkOutcome, counts: string, stop: AbortSignal): void {
  for (const { key, reason } of failed.slice(0, SHOWN_KEYS))
    tell(io, `edgeguard: key ${showKey(key)}: ${reason}`);
  if (failed.length > SHOWN_KEYS) tell(io, `edgeguard: and ${count(failed.length - SHOWN_KEYS)} more keys`);
  if (error !== undefined && stop.aborted) throw new InterruptedError(`interrupted. ${counts}.`);
  if (error !== undefined)
    throw new UnfinishedError(
      error,
      `${counts}. The same command does the rest: what is done already is no harm.`,
    );
  if (failed.length > 0) throw new CommandError(`${counts}.`);
}
