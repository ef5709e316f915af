import { resolve } from "node:path";
import { remove, upload, type BulkOutcome } from "../../kv/bulk";
import { readCatalog, type Catalog, type Row, type Source } from "../../kv/catalog";
import { quoteKey, declaredValueOf } from "../../kv/entry";
import { formatNumber } from "../../limits/workers";
import { compare } from "../../kv/converge";
import { FileSource } from "../../kv/source-file";
import { readValues, type FoundValue } from "../../kv/values";
import { firstFew, pluralize } from "../../basics/words";
import { confirm } from "../../terminal/confirm";
import { CommandError, InterruptedError, UnfinishedError } from "../../terminal/errors";
import { printArray, printToStderr, type Io } from "../../terminal/io";
import { ProgressLine } from "../../terminal/status-line";
import { readKeys } from "./files";
import { titleOf } from "./namespace";
import { onNamespace, targetOf, type KvOptions, type NamespaceSession } from "./session";

export async function putBulk(io: Io, name: string, options: KvOptions): Promise<void> {
  const target = targetOf(io, options);
  const begun = performance.now();
  const work = async (checked: Checked): Promise<void> => {
    const { catalog, rows, expired } = checked;
    const left = expired === 0 ? "" : `, skipped ${pluralize(expired, "entry")} that had expired`;
    if (options.dryRun === true) {
      const found = `${pluralize(rows.length, "entry")} to write, ${formatNumber(catalog.bytes)} bytes of values in total${left}`;
      printToStderr(io, `edgeguard: ${name} is valid: ${found}. Nothing was sent to ${target.name}.`);
      return;
    }
    const stop = io.interrupted();
    const write = async (session: NamespaceSession): Promise<void> => {
      const progress = new ProgressLine(io, "entries written", rows.length);
      const outcome = await send(session, checked, (more) => progress.add(more));
      progress.clear();
      const counts = `Wrote ${formatNumber(outcome.done)} of ${pluralize(rows.length, "entry")} to ${session.name}`;
      demandAll(io, outcome, counts, stop);
      const done = `wrote ${pluralize(outcome.done, "entry")} to ${session.name} in ${secondsSince(begun)}`;
      printToStderr(io, `edgeguard: ${done}${left}.`);
    };
    await onNamespace(io, options, write, { target, writes: true, closing: stop });
  };
  await withEntries(new FileSource({ path: resolve(io.cwd, name), name }), work);
}

/** Prints entries in the format of `bulk put`, so that they can be written elsewhere. */
export async function getBulk(io: Io, argument: string, options: KvOptions): Promise<void> {
  const keys = await readKeys(io, argument);
  await onNamespace(io, options, async ({ ctx, accountId, namespaceId, name }) => {
    const missing = new Set(keys);
    const found = readValues(ctx, { accountId, namespaceId, keys });
    await printArray(
      io,
      (async function* () {
        for await (const value of found) {
          missing.delete(value.key);
          yield entryOf(value);
        }
      })(),
    );
    if (missing.size === 0) return;
    const names = firstFew(
      [...missing].map((key) => JSON.stringify(key)),
      SHOWN_KEYS,
    );
    throw new CommandError(
      `${formatNumber(missing.size)} of ${pluralize(keys.length, "key")} ${missing.size === 1 ? "is" : "are"} not in ${name}: ${names}.`,
    );
  });
}

export async function deleteBulk(io: Io, argument: string, options: KvOptions): Promise<void> {
  const keys = await readKeys(io, argument);
  if (keys.length === 0) {
    printToStderr(io, `edgeguard: ${argument} has no keys; nothing was deleted.`);
    return;
  }
  const stop = io.interrupted();
  const work = async (session: NamespaceSession): Promise<void> => {
    const { ctx, accountId, namespaceId, name } = session;
    // Deleting from a missing namespace succeeds, but it's a mistake.
    const title = await titleOf(session);
    await confirm(
      io,
      `Delete ${pluralize(keys.length, "key")} from namespace ${JSON.stringify(title)} (${namespaceId})?`,
      options.yes,
    );
    const progress = new ProgressLine(io, "keys deleted", keys.length);
    const onDone = (some: readonly string[]): void => progress.add(some.length);
    const outcome = await remove({ ctx, accountId, namespaceId, keys, onDone });
    progress.clear();
    demandAll(
      io,
      outcome,
      `Deleted ${formatNumber(outcome.done)} of ${pluralize(keys.length, "key")} from ${name}`,
      stop,
    );
    printToStderr(io, `edgeguard: deleted ${pluralize(outcome.done, "key")} from ${name}.`);
  };
  await onNamespace(io, options, work, { closing: stop });
}

function entryOf({ key, bytes, metadata }: FoundValue): object {
  const { value, base64 } = declaredValueOf(bytes);
  return { key, value, ...(base64 && { base64 }), ...(metadata !== undefined && { metadata }) };
}

function secondsSince(startedMs: number): string {
  return `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
}

/** Entries that have been checked and can be sent. */
export interface Checked {
  readonly catalog: Catalog;
  readonly entries: Source;
  /** The entries to send: those that haven't expired. */
  readonly rows: readonly Row[];
  readonly expired: number;
}

/**
 * Runs `work` with the entries of a source. Checks all of them before sending the first, and reads their values again
 * when sending them. A file stays open and must not change.
 *
 * @throws CommandError that lists all problems with the entries.
 */
export async function withEntries<T>(source: Source, work: (checked: Checked) => Promise<T>): Promise<T> {
  try {
    const catalog = await readCatalog(source);
    const { problems } = catalog;
    if (problems.length > 0) throw new CommandError(`${problems.join("\n  ")}\n  Nothing was sent.`);
    const { writes: rows, past: expired } = compare(catalog, new Map());
    return await work({ catalog, entries: source, rows, expired });
  } finally {
    await source.close?.();
  }
}

/** Writes the entries in batches as the provider does, and calls `onWritten` with the size of each batch. */
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
 * Reports failed keys.
 *
 * @param counts the text with the counts, such as `Wrote 3 of 5 entries`.
 * @throws unless everything was written or deleted.
 */
export function demandAll(io: Io, { failed, error }: BulkOutcome, counts: string, stop: AbortSignal): void {
  for (const { key, reason } of failed.slice(0, SHOWN_KEYS))
    printToStderr(io, `edgeguard: key ${quoteKey(key)}: ${reason}`);
  if (failed.length > SHOWN_KEYS)
    printToStderr(io, `edgeguard: ${formatNumber(failed.length - SHOWN_KEYS)} more failed`);
  if (error !== undefined && stop.aborted) throw new InterruptedError(`interrupted. ${counts}.`);
  if (error !== undefined)
    throw new UnfinishedError(
      error,
      `${counts}. Run the same command again for the rest; rerunning is safe.`,
    );
  if (failed.length > 0) throw new CommandError(`${counts}.`);
}
