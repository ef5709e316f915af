import { isUtf8 } from "node:buffer";
import { count } from "../../kv/check-entry";
import { openFileSource } from "../../kv/source";
import { remove } from "../../kv/bulk";
import { readValues, type FoundValue } from "../../kv/values";
import { confirm } from "../../terminal/confirm";
import { CommandError } from "../../terminal/errors";
import { withInputFile, type InputFile } from "../input-file";
import { printArray, tell, type Io } from "../../terminal/io";
import { readArray } from "../json-array";
import { ProgressLine } from "../../terminal/status-line";
import { readKeys } from "./keys-file";
import { titleOf } from "./namespace";
import type { BulkPutOptions, DataOptions, DeleteOptions } from "./options";
import { demandAll, EntriesError, send, withEntries, type Checked } from "./send";
import { onNamespace, type NamespaceSession } from "./session";
import { targetOf } from "./target";

export async function putBulk(io: Io, argument: string, options: BulkPutOptions): Promise<void> {
  await withInputFile(io, argument, (file) => putEntries(io, file, options));
}

async function putEntries(io: Io, file: InputFile, options: BulkPutOptions): Promise<void> {
  const target = targetOf(io, options);
  const begun = performance.now();
  const work = async (checked: Checked): Promise<void> => {
    const { catalog, rows, expired } = checked;
    for (const warning of catalog.warnings) tell(io, `edgeguard: ${warning}`);
    const left = expired === 0 ? "" : `, and left out ${entries(expired)} that expired already`;
    if (options.dryRun === true) {
      const found = `${entries(rows.length)} to write, values of ${count(catalog.bytes)} bytes in all${left}`;
      tell(io, `edgeguard: ${file.name} is in order: ${found}. Nothing was sent to ${target.name}.`);
      return;
    }
    const stop = io.interrupted();
    const write = async (session: NamespaceSession): Promise<void> => {
      const progress = new ProgressLine(io, "entries written", rows.length);
      const outcome = await send(session, checked, (more) => progress.add(more));
      progress.clear();
      const counts = `Wrote ${count(outcome.done)} of ${entries(rows.length)} to ${session.name}`;
      demandAll(io, outcome, counts, stop);
      const done = `wrote ${entries(outcome.done)} to ${session.name} in ${secondsSince(begun)}`;
      tell(io, `edgeguard: ${done}${left}.`);
    };
    await onNamespace(io, options, write, { target, writes: true, closing: stop });
  };
  try {
    await withEntries(openFileSource(file), work);
  } catch (error) {
    throw error instanceof EntriesError ? await withColumn(file, error) : error;
  }
}

/** Entries in the form that `bulk put` takes, so that what was read can be written elsewhere. */
export async function getBulk(io: Io, argument: string, options: DataOptions): Promise<void> {
  const keys = await withInputFile(io, argument, readKeys);
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
    const some = [...missing].slice(0, 10).map((key) => JSON.stringify(key));
    const names = `${some.join(", ")}${missing.size > some.length ? ", …" : ""}`;
    throw new CommandError(`${count(missing.size)} of ${keysOf(keys.length)} are not in ${name}: ${names}.`);
  });
}

export async function deleteBulk(io: Io, argument: string, options: DeleteOptions): Promise<void> {
  const keys = await withInputFile(io, argument, readKeys);
  if (keys.length === 0) {
    tell(io, `edgeguard: ${argument} names no keys; nothing was deleted.`);
    return;
  }
  const stop = io.interrupted();
  const work = async (session: NamespaceSession): Promise<void> => {
    const { ctx, accountId, namespaceId, name } = session;
    // A delete takes what is not there for deleted; a namespace that is not there is a mistake.
    const title = await titleOf(session);
    await confirm(
      io,
      `Delete ${keysOf(keys.length)} of namespace ${JSON.stringify(title)} (${namespaceId})?`,
      options.yes,
    );
    const progress = new ProgressLine(io, "keys deleted", keys.length);
    const onDone = (some: readonly string[]): void => progress.add(some.length);
    const outcome = await remove({ ctx, accountId, namespaceId, keys, onDone });
    progress.clear();
    demandAll(io, outcome, `Deleted ${count(outcome.done)} of ${keysOf(keys.length)} of ${name}`, stop);
    tell(io, `edgeguard: deleted ${keysOf(outcome.done)} of ${name}.`);
  };
  await onNamespace(io, options, work, { closing: stop });
}

function entryOf({ key, bytes, metadata }: FoundValue): object {
  const more = metadata === undefined ? {} : { metadata };
  return isUtf8(bytes)
    ? { key, value: bytes.toString("utf8"), ...more }
    : { key, value: bytes.toString("base64"), base64: true, ...more };
}

/** Of what is no JSON the entries' reader tells the line; the file is read once more to tell the column too. */
async function withColumn({ path, name }: InputFile, { problems }: EntriesError): Promise<EntriesError> {
  const items = readArray(path, name);
  try {
    while ((await items.next()).done !== true);
    return new EntriesError(problems);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return new EntriesError([...problems.filter((one) => !one.startsWith(`${name}, line `)), error.message]);
  }
}

function entries(n: number): string {
  return `${count(n)} ${n === 1 ? "entry" : "entries"}`;
}

function keysOf(n: number): string {
  return `${count(n)} ${n === 1 ? "key" : "keys"}`;
}

function secondsSince(startedMs: number): string {
  return `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
}
