import { z } from "zod";
import { ApiError, isAbsent } from "../api/errors";
import { KV } from "../limits/index";
import { omitAbsent, isJsonObject, type Json } from "../basics/json";
import { pluralize } from "../basics/words";
import {
  advice,
  hidesKeys,
  isNamespaceGone,
  metadata,
  metadataPath,
  namespacePath,
  valuePath,
  type EntriesContext,
  type NamespaceAddress,
} from "./address";
import { quoteKey } from "./entry";
import { inOrder } from "./in-order";

export interface FoundValue {
  readonly key: string;
  /** The value as stored. */
  readonly bytes: Buffer;
  readonly metadata?: Json;
  /** The expiration in Unix seconds, if the bulk read returned it. */
  readonly expiration?: number;
  /** Whether the value was read individually: that request returns neither metadata nor expiration. */
  readonly isAlone?: true;
}

export interface ReadRequest extends NamespaceAddress {
  readonly keys: Iterable<string>;
  /** Whether a value is known not to be text, so that the bulk read can't return it. */
  readonly isBinary?: (key: string) => boolean;
  /**
   * Whether to read metadata. Defaults to true. If false, each value that's read individually takes one less request.
   */
  readonly withMetadata?: boolean;
}

/**
 * Yields the values of those keys that exist, in no particular order. Reads in bulk, with several requests at once. A
 * bulk read returns only text: a value that it rejects, or returns with a replacement character, is read individually
 * as bytes. Text that really contains that character costs one extra request.
 *
 * @throws ApiError if the namespace doesn't exist or a request fails.
 */
export async function* readValues(
  ctx: EntriesContext,
  request: ReadRequest,
): AsyncGenerator<FoundValue, void, undefined> {
  const { concurrency } = ctx.settings;
  const [single, together]: [string[], string[]] = [[], []];
  for (const key of request.keys) (request.isBinary?.(key) === true ? single : together).push(key);
  const read = bulkReader(ctx, request);
  for await (const { found, unread } of inOrder(chunks(together), concurrency, read)) {
    yield* found;
    single.push(...unread);
  }
  // Each response has one value, so at most `concurrency` values are in memory.
  for await (const found of inOrder(single, concurrency, (key) => readSingly(ctx, request, key))) {
    if (found !== undefined) yield found;
  }
}

function* chunks(keys: readonly string[]): Generator<readonly string[]> {
  for (let i = 0; i < keys.length; i += KV.MAX_BULK_GET_KEYS) yield keys.slice(i, i + KV.MAX_BULK_GET_KEYS);
}

interface Part {
  readonly found: readonly FoundValue[];
  /** Keys whose values the bulk read can't return exactly. */
  readonly unread: readonly string[];
}

function bulkReader(ctx: EntriesContext, request: ReadRequest): (keys: readonly string[]) => Promise<Part> {
  const read = async (keys: readonly string[]): Promise<Part> => {
    try {
      return await readBulk(ctx, request, keys);
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 413 && error.status !== 400)) throw error;
      // The response would be too large: read each value individually.
      if (error.status === 413 || keys.length === 1) return { found: [], unread: keys };
      // A single value that isn't text fails the whole request. Bisect to find it.
      const middle = Math.ceil(keys.length / 2);
      const left = await read(keys.slice(0, middle));
      const right = await read(keys.slice(middle));
      return { found: [...left.found, ...right.found], unread: [...left.unread, ...right.unread] };
    }
  };
  return read;
}

async function readBulk(ctx: EntriesContext, request: ReadRequest, keys: readonly string[]): Promise<Part> {
  const values = await ctx.api.post(`${namespacePath(request)}/bulk/get`, {
    what: `Reading ${pluralize(keys.length, "value")} from namespace ${request.namespaceId}`,
    schema: bulkValues,
    body: { keys, type: "text", withMetadata: true },
    repeatable: true,
    advice,
  });
  const found: FoundValue[] = [];
  const unread: string[] = [];
  for (const key of keys) {
    const { value, metadata, expiration } = values.get(key) ?? {};
    if (typeof value !== "string") continue; // The key doesn't exist.
    if (NOT_FAITHFUL.test(value)) unread.push(key);
    else found.push(omitAbsent({ key, bytes: Buffer.from(value), metadata, expiration }));
  }
  return { found, unread };
}

/**
 * Matches replacement characters, which stand for bytes that aren't text, and lone surrogates, which UTF-8 can't
 * encode.
 */
const NOT_FAITHFUL = /[\uFFFD\p{Surrogate}]/u;

const bulkValue = z
  .looseObject({ value: z.string().nullish(), metadata, expiration: z.number().optional().catch(undefined) })
  .nullable();

/** A Map rather than an object, because a key may be `__proto__`. */
const bulkValues = z
  .looseObject({ values: z.unknown().refine(isJsonObject, "is not an object") })
  .transform(({ values }) => Object.entries(values as object))
  .pipe(z.array(z.tuple([z.string(), bulkValue])))
  .transform((values) => new Map(values));

async function readSingly(
  ctx: EntriesContext,
  request: ReadRequest,
  key: string,
): Promise<FoundValue | undefined> {
  if (hidesKeys(ctx)) ctx.hide(key); // It's in the path.
  const of = `of key ${quoteKey(key, hidesKeys(ctx))} in namespace ${request.namespaceId}`;
  try {
    const { bytes } = await ctx.api.getBytes(valuePath(request, key), {
      what: `Reading the value ${of}`,
      advice,
    });
    if (request.withMetadata === false) return { key, bytes, isAlone: true };
    const described = await ctx.api.get(metadataPath(request, key), {
      what: `Reading the metadata ${of}`,
      schema: metadata,
      advice,
    });
    return omitAbsent({ key, bytes, metadata: described });
  } catch (error) {
    if (isAbsent(error) && !isNamespaceGone(error)) return undefined;
    throw error;
  }
}
