import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { devNull } from "node:os";
import { resolve } from "node:path";
import { z } from "zod";
import { ApiError, isAbsent } from "../../api/errors";
import { isNamespaceGone, metadataPath, valuePath } from "../../kv/address";
import { checkKey, count, showKey, tooLarge, writtenOf } from "../../kv/entry";
import { listKeys as keysOf } from "../../kv/listing";
import { openSource } from "../../kv/declared";
import { inexactMetadata, isTooDeep } from "../../kv/metadata";
import { KV } from "../../limits";
import { isJsonObject } from "../../runtime/values";
import { confirm } from "../../terminal/confirm";
import { CommandError, UsageError } from "../../terminal/errors";
import { unreadable } from "../../terminal/files";
import { print, printArray, printToStderr, type Io } from "../../terminal/io";
import { send, withEntries } from "./bulk";
import {
  onNamespace,
  type DeleteOptions,
  type GetOptions,
  type ListOptions,
  type NamespaceSession,
  type PutOptions,
} from "./session";
import { NotRegularError } from "../../runtime/files";

/** One entry goes the way of many: the same checks, the same request, the same retries. */
export async function putKey(
  io: Io,
  key: string,
  value: string | undefined,
  options: PutOptions,
): Promise<void> {
  const entry = entryOf(io, key, value, options);
  await withEntries(openSource({ entries: { [key]: entry } }, io.cwd), async (checked) => {
    const { bytes, warnings } = checked.catalog;
    for (const warning of warnings) printToStderr(io, `edgeguard: ${warning}`);
    if (checked.expired > 0) throw new UsageError(tooSoon(entry.expiration ?? 0));
    const work = async (session: NamespaceSession): Promise<void> => {
      const { error, failed } = await send(session, checked);
      if (error !== undefined) throw error;
      if (failed[0] !== undefined)
        throw new CommandError(`key ${showKey(key)} was not written: ${failed[0].reason}`);
      printToStderr(
        io,
        `edgeguard: wrote key ${showKey(key)}, ${count(bytes)} ${bytes === 1 ? "byte" : "bytes"}, to ${session.name}${ends(entry)}.`,
      );
    };
    await onNamespace(io, options, work, { writes: true });
  });
}

export async function listKeys(io: Io, options: ListOptions): Promise<void> {
  const { prefix } = options;
  await onNamespace(io, options, async ({ ctx, accountId, namespaceId }) => {
    const at = { accountId, namespaceId, ...(prefix === undefined ? {} : { prefix }) };
    await printArray(io, shown(keysOf(ctx.api, { ...at, complete: false })));
  });
}

export async function getKey(io: Io, key: string, options: GetOptions): Promise<void> {
  refuseBadKey(key);
  await onNamespace(io, options, async (session) => {
    const what = `Reading key ${showKey(key)} of ${session.name}`;
    try {
      const { bytes } = await session.ctx.api.getBytes(valuePath(session, key), { what });
      if (options.text === true && !isUtf8(bytes))
        throw new CommandError(
          `the value of key ${showKey(key)} is not UTF-8 text but ${count(bytes.length)} other bytes. Leave out --text to get them as they are.`,
        );
      await print(io, bytes);
      // For a reader at a terminal only: elsewhere it would be a byte too many.
      if (options.text === true && io.stdout.isTTY === true) await print(io, "\n");
    } catch (error) {
      throw isKeyMissing(error) ? new CommandError(`${session.name} has no key ${showKey(key)}.`) : error;
    }
  });
}

export async function deleteKey(io: Io, key: string, options: DeleteOptions): Promise<void> {
  refuseBadKey(key);
  await onNamespace(io, options, async (session) => {
    await confirm(io, `Delete key ${showKey(key)} of ${session.name}?`, options.yes);
    const existed = await exists(session, key);
    // Sent in any case: a key that was just written elsewhere may not show yet.
    try {
      await session.ctx.api.delete(valuePath(session, key), {
        what: `Deleting key ${showKey(key)} of ${session.name}`,
        schema: z.unknown(),
      });
    } catch (error) {
      if (!isKeyMissing(error)) throw error;
    }
    printToStderr(
      io,
      existed
        ? `edgeguard: deleted key ${showKey(key)} of ${session.name}.`
        : `edgeguard: ${session.name} had no key ${showKey(key)}; there was nothing to delete.`,
    );
  });
}

/** Cloudflare answers a delete alike whether the key existed or not. A token that may only write is no obstacle. */
async function exists(session: NamespaceSession, key: string): Promise<boolean> {
  try {
    await session.ctx.api.get(metadataPath(session, key), {
      what: `Looking for key ${showKey(key)} of ${session.name}`,
      schema: z.unknown(),
    });
    return true;
  } catch (error) {
    if (isKeyMissing(error)) return false;
    if (error instanceof ApiError && error.status === 403) return true;
    throw error;
  }
}

interface Given {
  readonly value: string;
  readonly base64: boolean;
  readonly metadata?: unknown;
  readonly expiration?: number;
  readonly expirationTtl?: number;
}

/** What the command line says of the entry; the limits are looked at where those of all entries are. */
function entryOf(io: Io, key: string, text: string | undefined, options: PutOptions): Given {
  const { path, ttl, expiration, metadata } = options;
  if (text === undefined && path === undefined) throw new UsageError("no value. Pass VALUE or --path.");
  if (text !== undefined && path !== undefined) throw new UsageError("pass VALUE or --path, not both.");
  refuseBadKey(key);
  const times = ttl !== undefined ? { expirationTtl: ttl } : expiration === undefined ? {} : { expiration };
  return {
    ...(path === undefined ? { value: text ?? "", base64: false } : fileValue(io, path)),
    ...(metadata === undefined ? {} : { metadata: parsedMetadata(metadata) }),
    ...times,
  };
}

function fileValue(io: Io, path: string): { readonly value: string; readonly base64: boolean } {
  const whole = resolve(io.cwd, path);
  try {
    const found = statSync(whole);
    if (!found.isFile() && !found.isFIFO() && whole !== devNull)
      throw new NotRegularError(found.isDirectory());
    if (found.size > KV.MAX_VALUE_BYTES) throw new CommandError(`${path}: ${tooLarge(found.size)}.`);
    return writtenOf(readFileSync(whole));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw unreadable(path, whole, error);
  }
}

/** The parser's own words would quote what was given, which may be a secret. */
function parsedMetadata(text: string): unknown {
  const how = `pass an object and quote it for the shell, as in '{"owner":"shop"}'.`;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new UsageError(`--metadata is not valid JSON: ${how}`);
  }
  if (!isJsonObject(parsed)) throw new UsageError(`--metadata is not an object: ${how}`);
  if (isTooDeep(parsed)) throw new UsageError("--metadata is nested too deep.");
  const inexact = inexactMetadata(`{"metadata":${text}}`, { metadata: parsed });
  if (inexact !== undefined) throw new UsageError(`--metadata: ${inexact}.`);
  const bytes = Buffer.byteLength(JSON.stringify(parsed));
  if (bytes <= KV.MAX_METADATA_BYTES) return parsed;
  throw new UsageError(
    `--metadata is ${count(bytes)} bytes of JSON; the limit is ${count(KV.MAX_METADATA_BYTES)}.`,
  );
}

function tooSoon(expiration: number): string {
  return `--expiration ${expiration} is ${timeOf(expiration)}; it must be at least ${KV.MIN_TTL_SECONDS} seconds ahead.`;
}

function refuseBadKey(key: string): void {
  const problem = checkKey(key);
  if (problem !== undefined) throw new UsageError(`key ${showKey(key)}: ${problem}.`);
}

function isKeyMissing(error: unknown): boolean {
  return isAbsent(error) && !isNamespaceGone(error);
}

/** Members of the seed's listing, in its order. */
async function* shown(
  keys: AsyncIterable<{ readonly name: string; readonly expiration?: number }>,
): AsyncGenerator<object> {
  for await (const { name, expiration } of keys)
    yield { name, ...(expiration === undefined ? {} : { expiration }) };
}

function ends({ expirationTtl, expiration }: Given): string {
  if (expirationTtl !== undefined) return `; it expires in ${count(expirationTtl)} seconds`;
  return expiration === undefined ? "" : `; it expires at ${timeOf(expiration)}`;
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}
