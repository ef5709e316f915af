import { z } from "zod";
import { ApiError, isAbsent } from "../api/errors";
import { KV } from "../limits";
import { omitAbsent } from "../runtime/members";
import { isJsonObject, type Json } from "../runtime/values";
import {
  advice,
  isNamespaceGone,
  isUnknownRoute,
  metadata,
  metadataPath,
  namespacePath,
  valuePath,
  type EntriesContext,
  type NamespaceAddress,
} from "./address";
import { inOrder } from "./in-order";

export interface FoundValue {
  readonly key: string;
  /** As they are stored. */
  readonly bytes: Buffer;
  readonly metadata?: Json;
  /** Seconds since the epoch, where the answer to a bulk read tells it. */
  readonly expiration?: number;
  /** Read by a request of its own, without what else there is to the key. */
  readonly isAlone?: true;
}

export interface ReadRequest extends NamespaceAddress {
  readonly keys: Iterable<string>;
  /** Keys that are known to hold no text: nothing is asked of the bulk read that it cannot give. */
  readonly isBinary?: (key: string) => boolean;
  /** Default true. False saves a request for each value that is read singly. */
  readonly withMetadata?: boolean;
  /** Throws where the API has no bulk read, in place of reading each value singly. Default false. */
  readonly bulkOnly?: boolean;
}

/**
 * Values of keys, as far as they are there: in bulk, several requests at once, and in no promised order. The bulk read
 * gives text only. A value that it refuses, or that it gives with a replacement character, may be something else and is
 * read singly, as bytes; so is a text that does hold that character, at the cost of one request.
 *
 * @throws ApiError when the namespace is gone or the service fails.
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
  // One answer holds one value here, so that no more than `concurrency` values are in memory.
  for await (const found of inOrder(single, concurrency, (key) => readSingly(ctx, request, key))) {
    if (found !== undefined) yield found;
  }
}

function* chunks(keys: readonly string[]): Generator<readonly string[]> {
  for (let i = 0; i < keys.length; i += KV.MAX_BULK_GET_KEYS) yield keys.slice(i, i + KV.MAX_BULK_GET_KEYS);
}

interface Part {
  readonly found: readonly FoundValue[];
  /** Keys whose values the bulk read cannot give as they are. */
  readonly unread: readonly string[];
}

function bulkReader(ctx: EntriesContext, request: ReadRequest): (keys: readonly string[]) => Promise<Part> {
  let known = true;
  const read = async (keys: readonly string[]): Promise<Part> => {
    if (!known) return { found: [], unread: keys };
    try {
      return await readBulk(ctx, request, keys);
    } catch (error) {
      if (isUnknownRoute(error)) {
        if (request.bulkOnly === true) throw error;
        known = false; // The older API has no bulk read.
        return { found: [], unread: keys };
      }
      if (!(error instanceof ApiError) || (error.status !== 413 && error.status !== 400)) throw error;
      // Of too many bytes at once each value is better taken alone.
      if (error.status === 413 || keys.length === 1) return { found: [], unread: keys };
      // One value that is no text has all of them refused: its half is found, and the other half read.
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
    what: `Reading ${keys.length} values of namespace ${request.namespaceId}`,
    schema: bulkValues,
    body: { keys, type: "text", withMetadata: true },
    repeatable: true,
    advice,
  });
  const found: FoundValue[] = [];
  const unread: string[] = [];
  for (const key of keys) {
    const { value, metadata, expiration } = values.get(key) ?? {};
    if (typeof value !== "string") continue; // It is not there.
    if (NOT_FAITHFUL.test(value)) unread.push(key);
    else found.push(omitAbsent({ key, bytes: Buffer.from(value), metadata, expiration }));
  }
  return { found, unread };
}

/** What a decoder puts in place of bytes that are no text, and halves of characters, which have no bytes. */
const NOT_FAITHFUL = /[\uFFFD\p{Surrogate}]/u;

const bulkValue = z
  .looseObject({ value: z.string().nullish(), metadata, expiration: z.number().optional().catch(undefined) })
  .nullable();

/** A map, for a key may be called `__proto__`. */
const bulkValues = z
  .looseObject({ values: z.unknown().refine(isJsonObject, "is no object") })
  .transform(({ values }) => Object.entries(values as object))
  .pipe(z.array(z.tuple([z.string(), bulkValue])))
  .transform((values) => new Map(values));

async function readSingly(
  ctx: EntriesContext,
  request: ReadRequest,
  key: string,
): Promise<FoundValue | undefined> {
  const of = `of key ${JSON.stringify(key)} in namespace ${request.namespaceId}`;
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
