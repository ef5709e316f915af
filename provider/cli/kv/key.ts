import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { devNull } from "node:os";
import { resolve } from "node:path";
import { z } from "zod";
import { isAbsent } from "../../api/errors";
import { isNamespaceGone, valuePath } from "../../kv/address";
import { checkKey, quoteKey, tooLarge, declaredValueOf } from "../../kv/entry";
import { formatNumber } from "../../limits/workers";
import { listKeys as keysOf } from "../../kv/listing";
import { openSource } from "../../kv/declaration";
import { checkMetadata } from "../../kv/metadata";
import { KV } from "../../limits/index";
import { isJsonObject, parseJson } from "../../basics/json";
import { pluralize } from "../../basics/words";
import { confirm } from "../../terminal/confirm";
import { CommandError, UsageError } from "../../terminal/errors";
import { unreadable } from "../../terminal/files";
import { print, printArray, printToStderr, type Io } from "../../terminal/io";
import { send, withEntries } from "./bulk";
import { onNamespace, type KvOptions, type NamespaceSession } from "./session";
import { NotRegularError } from "../../basics/files";

/** Writes one entry with the same checks, request and retries as a bulk write. */
export async function putKey(
  io: Io,
  key: string,
  value: string | undefined,
  options: KvOptions,
): Promise<void> {
  const entry = entryOf(io, key, value, options);
  await withEntries(openSource({ entries: { [key]: entry } }, io.cwd), async (checked) => {
    const { bytes } = checked.catalog;
    if (checked.expired > 0) throw new UsageError(tooSoon(entry.expiration ?? 0));
    const work = async (session: NamespaceSession): Promise<void> => {
      const { error, failed } = await send(session, checked);
      if (error !== undefined) throw error;
      if (failed[0] !== undefined)
        throw new CommandError(`key ${quoteKey(key)} was not written: ${failed[0].reason}`);
      printToStderr(
        io,
        `edgeguard: wrote key ${quoteKey(key)} (${pluralize(bytes, "byte")}) to ${session.name}${ends(entry)}.`,
      );
    };
    await onNamespace(io, options, work, { writes: true });
  });
}

export async function listKeys(io: Io, options: KvOptions): Promise<void> {
  const { prefix } = options;
  await onNamespace(io, options, async ({ ctx, accountId, namespaceId }) => {
    const at = { accountId, namespaceId, ...(prefix === undefined ? {} : { prefix }) };
    await printArray(io, keysOf(ctx.api, { ...at, complete: false }));
  });
}

export async function getKey(io: Io, key: string, options: KvOptions): Promise<void> {
  refuseBadKey(key);
  await onNamespace(io, options, async (session) => {
    const what = `Reading key ${quoteKey(key)} in ${session.name}`;
    try {
      const { bytes } = await session.ctx.api.getBytes(valuePath(session, key), { what });
      if (options.text === true && !isUtf8(bytes))
        throw new CommandError(
          `the value of key ${quoteKey(key)} (${pluralize(bytes.length, "byte")}) is not UTF-8 text. Leave out --text to get the raw bytes.`,
        );
      await print(io, bytes);
      // Only on a terminal. Anywhere else, it would be an extra byte.
      if (options.text === true && io.stdout.isTTY === true) await print(io, "\n");
    } catch (error) {
      throw isKeyMissing(error) ? new CommandError(`${session.name} has no key ${quoteKey(key)}.`) : error;
    }
  });
}

export async function deleteKey(io: Io, key: string, options: KvOptions): Promise<void> {
  refuseBadKey(key);
  await onNamespace(io, options, async (session) => {
    await confirm(io, `Delete key ${quoteKey(key)} from ${session.name}?`, options.yes);
    try {
      await session.ctx.api.delete(valuePath(session, key), {
        what: `Deleting key ${quoteKey(key)} from ${session.name}`,
        schema: z.unknown(),
      });
    } catch (error) {
      if (!isKeyMissing(error)) throw error;
    }
    // The response doesn't say.
    printToStderr(io, `edgeguard: deleted key ${quoteKey(key)} from ${session.name}, if it existed.`);
  });
}

interface Given {
  readonly value: string;
  readonly base64: boolean;
  readonly metadata?: unknown;
  readonly expiration?: number;
  readonly expirationTtl?: number;
}

/** Builds the entry from the command line. Its limits are checked like those of any entry. */
function entryOf(io: Io, key: string, text: string | undefined, options: KvOptions): Given {
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
    return declaredValueOf(readFileSync(whole));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw unreadable(path, whole, error);
  }
}

/** Parses metadata. The error leaves out the parser's message, because that quotes the text, which may be secret. */
function parsedMetadata(text: string): unknown {
  const how = `Pass an object, quoted for the shell: '{"owner":"shop"}'.`;
  const parsed = parseJson(text);
  if (parsed === undefined) throw new UsageError(`--metadata is not valid JSON. ${how}`);
  if (!isJsonObject(parsed)) throw new UsageError(`--metadata is not an object. ${how}`);
  const problem = checkMetadata(parsed);
  if (problem !== undefined) throw new UsageError(`--metadata: ${problem}.`);
  return parsed;
}

function tooSoon(expiration: number): string {
  return `--expiration ${expiration} is ${timeOf(expiration)}; it must be at least ${KV.MIN_TTL_SECONDS} seconds from now.`;
}

function refuseBadKey(key: string): void {
  const problem = checkKey(key);
  if (problem !== undefined) throw new UsageError(`key ${quoteKey(key)}: ${problem}.`);
}

function isKeyMissing(error: unknown): boolean {
  return isAbsent(error) && !isNamespaceGone(error);
}

function ends({ expirationTtl, expiration }: Given): string {
  if (expirationTtl !== undefined) return `; it expires in ${formatNumber(expirationTtl)} seconds`;
  return expiration === undefined ? "" : `; it expires at ${timeOf(expiration)}`;
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}
