import { z } from "zod";
import { KV } from "../limits";
import {
  advice,
  isNamespaceGone,
  isUnknownRoute,
  namespacePath,
  type EntriesContext,
  type NamespaceAddress,
} from "./address";
import { batches, Body, textBytes } from "./batches";
import { carryOut, type Refused } from "./bulk";
import type { Row } from "./catalog";
import { Progress } from "./progress";
import type { Writable } from "./writable";

export interface UploadRequest extends NamespaceAddress {
  readonly ctx: EntriesContext;
  readonly entries: Writable;
  /** Which of them are to be written; none that has expired already. */
  readonly rows: readonly Row[];
  /** Called for what the service has confirmed, as soon as it has. */
  readonly onWritten: (rows: readonly Row[], answeredAtSeconds: number) => void;
  /** Called for what may have been written or not. */
  readonly onUncertain?: (rows: readonly Row[]) => void;
}

export interface UploadOutcome {
  readonly written: number;
  /** Entries that the service refuses one by one; they did not keep it from taking the others. */
  readonly failed: readonly Refused[];
  /** Why the upload ended early: the service, the source, or a cancellation. */
  readonly error?: Error;
}

/**
 * Writes entries in bulk, several requests at once. Never throws: what was written until it ended is the caller's to
 * record. A batch whose outcome nobody knows counts as not written, for writing it again does no harm.
 */
export async function upload(request: UploadRequest): Promise<UploadOutcome> {
  const { ctx, namespaceId, entries, rows, onWritten, onUncertain } = request;
  const progress = new Progress({ say: ctx.say, namespaceId, what: "entries written", total: rows.length });
  const bytesOf = ({ sentBytes }: Row): number => sentBytes;
  const keyOf = ({ key }: Row): string => key;
  const outcome = await carryOut({
    ctx,
    batches: batches(rows, { items: KV.MAX_BULK_ENTRIES, bytes: KV.BATCH_BYTES, bytesOf }),
    keyOf,
    send: async (some) => {
      const body = new Body(some.map(bytesOf));
      await entries.fill(body, some);
      const result = await ctx.api.put(`${namespacePath(request)}/bulk`, {
        what: `Writing ${named(some, keyOf, "entries")} to namespace ${namespaceId}`,
        schema: bulkResult,
        body: body.done(),
        advice,
      });
      return unsuccessfulKeys(result);
    },
    onDone: (some) => {
      if (some.length === 0) return;
      onWritten(some, Math.floor(ctx.api.now() / 1000)); // A lifetime is counted from it, as Cloudflare counts.
      progress.add(some.length);
    },
    onUncertain: (some) => onUncertain?.(some),
  });
  return { written: progress.done, ...outcome };
}

export interface RemoveRequest extends NamespaceAddress {
  readonly ctx: EntriesContext;
  readonly keys: readonly string[];
  /** Called for the keys that are gone, as soon as the service has confirmed it. */
  readonly onRemoved: (keys: readonly string[]) => void;
  /** Called for the keys that may be gone or not. */
  readonly onUncertain?: (keys: readonly string[]) => void;
}

export interface RemoveOutcome {
  readonly removed: number;
  readonly failed: readonly Refused[];
  /** Why it ended early. */
  readonly error?: Error;
}

/** Deletes keys in bulk, as `upload` writes them. A key that is not there, or whose namespace is gone, is removed. */
export async function remove(request: RemoveRequest): Promise<RemoveOutcome> {
  const { ctx, namespaceId, keys, onRemoved, onUncertain } = request;
  const progress = new Progress({ say: ctx.say, namespaceId, what: "keys deleted", total: keys.length });
  const outcome = await carryOut({
    ctx,
    batches: batches(keys, { items: KV.MAX_BULK_ENTRIES, bytes: KV.BATCH_BYTES, bytesOf: textBytes }),
    keyOf: (key) => key,
    send: remover(request),
    onDone: (items) => {
      if (items.length === 0) return;
      onRemoved(items);
      progress.add(items.length);
    },
    onUncertain: (items) => onUncertain?.(items),
  });
  return { removed: progress.done, ...outcome };
}

/** Deletes by the form of the operation that the service knows (D37), until there is nothing left to delete from. */
function remover(request: RemoveRequest): (keys: readonly string[]) => Promise<readonly string[]> {
  const { api } = request.ctx;
  const path = `${namespacePath(request)}/bulk`;
  let form: "POST" | "DELETE" = "POST";
  let gone = false;

  const send = async (keys: readonly string[], as: typeof form): Promise<readonly string[]> => {
    const { result } = await api.send(as, as === "POST" ? `${path}/delete` : path, {
      what: `Deleting ${named(keys, (key) => key, "keys")} of namespace ${request.namespaceId}`,
      schema: bulkResult,
      body: keys,
      repeatable: true,
      advice,
    });
    return unsuccessfulKeys(result);
  };

  return async (keys) => {
    if (gone) return [];
    try {
      try {
        return await send(keys, form);
      } catch (error) {
        if (form !== "POST" || !isUnknownRoute(error)) throw error;
        const unsuccessful = await send(keys, "DELETE");
        form = "DELETE";
        return unsuccessful;
      }
    } catch (error) {
      if (!isNamespaceGone(error)) throw error;
      gone = true;
      return [];
    }
  };
}

/** Nothing, an empty object, a sentence, or counts with the keys that failed (D36). */
const bulkResult = z.union([
  z.null(),
  z.string(),
  z.looseObject({ unsuccessful_keys: z.array(z.string()).nullish() }),
]);

function unsuccessfulKeys(result: z.output<typeof bulkResult>): readonly string[] {
  return typeof result === "object" ? (result?.unsuccessful_keys ?? []) : [];
}

/** `key "a"` for one, `12 entries` for more: a refusal of one item names it. */
function named<T>(items: readonly T[], keyOf: (item: T) => string, plural: string): string {
  const [first, ...more] = items;
  return first !== undefined && more.length === 0
    ? `key ${JSON.stringify(keyOf(first))}`
    : `${items.length} ${plural}`;
}
