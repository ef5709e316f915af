import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { ApiError, mayHaveBeenApplied } from "../api/errors";
import { KV } from "../limits";
import {
  advice,
  type EntriesContext,
  hidesKeys,
  isNamespaceGone,
  type NamespaceAddress,
  namespacePath,
  subjectOf,
} from "./address";
import { type Batch, batches, Body, textBytes } from "./batches";
import type { Row, Writable } from "./catalog";
import { quoteKey } from "./entry";
import { formatNumber } from "../limits/workers";

// Bulk writes and deletes, sent in parallel batches. Keys that Cloudflare reports as unsuccessful are sent again.

interface BulkRequest<T> extends NamespaceAddress {
  readonly ctx: EntriesContext;
  /** Called with items as soon as Cloudflare confirms them. */
  readonly onDone: (items: readonly T[], answeredAtSeconds: number) => void;
  /** Called with items whose request was interrupted, so it's unknown whether Cloudflare applied it. */
  readonly onUncertain?: (items: readonly T[]) => void;
}

export interface UploadRequest extends BulkRequest<Row> {
  readonly entries: Writable;
  /** The entries to write, none of them expired. */
  readonly rows: readonly Row[];
}

export interface RemoveRequest extends BulkRequest<string> {
  readonly keys: readonly string[];
}

export interface BulkOutcome {
  /** How many entries or keys Cloudflare confirmed. */
  readonly done: number;
  /** Keys that Cloudflare rejected while accepting the others. */
  readonly failed: readonly FailedKey[];
  /** Why the work ended early: an API error, a problem with the source, or a cancellation. */
  readonly error: Error | undefined;
}

/** A key that Cloudflare rejected, and why. */
export interface FailedKey {
  readonly key: string;
  readonly reason: string;
}

/**
 * Writes entries. Never throws, because the caller has to record what was written. A batch with an unknown outcome counts
 * as not written: writing it again is safe.
 */
export async function upload(request: UploadRequest): Promise<BulkOutcome> {
  const { ctx, namespaceId, entries, rows } = request;
  const keyOf = ({ key }: Row): string => key;
  return await sendInBatches(request, rows, {
    what: "entries written",
    keyOf,
    bytesOf: ({ sentBytes }) => sentBytes,
    send: async (some) => {
      const body = new Body(some.map(({ sentBytes }) => sentBytes));
      await entries.fill(body, some);
      return await ctx.api.put(`${namespacePath(request)}/bulk`, {
        what: `Writing ${describeItems(ctx, some, keyOf, "entries")} to namespace ${namespaceId}`,
        schema: unsuccessfulKeys,
        body: body.done(),
        advice,
      });
    },
  });
}

/** Deletes keys. Like `upload`, it never throws. A key counts as deleted if it or its namespace doesn't exist. */
export async function remove(request: RemoveRequest): Promise<BulkOutcome> {
  const { ctx, namespaceId, keys } = request;
  const keyOf = (key: string): string => key;
  let isGone = false;
  return await sendInBatches(request, keys, {
    what: "keys deleted",
    keyOf,
    bytesOf: textBytes,
    send: async (some) => {
      if (isGone) return [];
      try {
        return await ctx.api.post(`${namespacePath(request)}/bulk/delete`, {
          what: `Deleting ${describeItems(ctx, some, keyOf, "keys")} from namespace ${namespaceId}`,
          schema: unsuccessfulKeys,
          body: some,
          repeatable: true,
          advice,
        });
      } catch (error) {
        if (!isNamespaceGone(error)) throw error;
        isGone = true;
        return [];
      }
    },
  });
}

/** The keys that Cloudflare didn't write or delete. Depending on its version, the API returns null, a string, or an object. */
const unsuccessfulKeys = z
  .union([z.null(), z.string(), z.looseObject({ unsuccessful_keys: z.array(z.string()).nullish() })])
  .transform((result) => (typeof result === "object" && result?.unsuccessful_keys) || []);

/** Describes items as `key "a"` or `12 entries`, so that an error about a single item names it. */
function describeItems<T>(
  ctx: EntriesContext,
  items: readonly T[],
  keyOf: (item: T) => string,
  plural: string,
): string {
  const [first, ...more] = items;
  return first !== undefined && more.length === 0
    ? `key ${quoteKey(keyOf(first), hidesKeys(ctx))}`
    : `${items.length} ${plural}`;
}

/** When to resend keys that Cloudflare reported as unsuccessful. */
export const RESEND = {
  /**
   * The wait before each attempt, because a key accepts only one write per second.
   * https://developers.cloudflare.com/kv/platform/limits/
   */
  afterMs: [1_000, 2_000, 4_000],
} as const;

interface Operation<T> {
  /** What the counts in progress messages mean, such as `entries written`. */
  readonly what: string;
  readonly keyOf: (item: T) => string;
  /** The size in bytes of an item's JSON. */
  readonly bytesOf: (item: T) => number;
  /** Sends one request and returns the keys that Cloudflare reports as unsuccessful. */
  readonly send: (items: readonly T[]) => Promise<readonly string[]>;
}

/** Sends batches in parallel, up to the client's concurrency limit and a limit on the memory for request bodies. */
async function sendInBatches<T>(
  { ctx, namespaceId, onDone, onUncertain }: BulkRequest<T>,
  items: readonly T[],
  { what, keyOf, bytesOf, send }: Operation<T>,
): Promise<BulkOutcome> {
  const reportProgress = progressReporter({
    say: ctx.say,
    who: subjectOf(ctx, namespaceId),
    what,
    total: items.length,
  });
  const failed: FailedKey[] = [];
  let done = 0;

  /** Returns the items that Cloudflare reports as unsuccessful. */
  const attempt = async (some: readonly T[]): Promise<readonly T[]> => {
    try {
      const unsuccessful = new Set(await send(some));
      const confirmed = some.filter((item) => !unsuccessful.has(keyOf(item)));
      if (confirmed.length > 0) {
        onDone(confirmed, Math.floor(ctx.api.now() / 1000)); // A TTL starts at this time, by Cloudflare's clock.
        done += confirmed.length;
        reportProgress(confirmed.length);
      }
      return some.filter((item) => unsuccessful.has(keyOf(item)));
    } catch (error) {
      if (mayHaveBeenApplied(error)) onUncertain?.(some);
      if (!(error instanceof ApiError) || error.status !== 413) throw error;
      const [first, second] = some;
      if (first !== undefined && second === undefined) {
        failed.push({ key: keyOf(first), reason: error.message });
        return [];
      }
      // The halves are sent one after the other: in parallel, they'd take the memory of two batches.
      const middle = Math.ceil(some.length / 2);
      const undone = await attempt(some.slice(0, middle));
      return [...undone, ...(await attempt(some.slice(middle)))];
    }
  };

  const error = await inParallel(
    batches(items, { items: KV.MAX_BULK_ENTRIES, bytes: KV.BATCH_BYTES, bytesOf }),
    { batches: ctx.settings.concurrency, bytes: KV.IN_FLIGHT_BYTES },
    async (batch) => {
      let undone = await attempt(batch.items);
      for (const wait of RESEND.afterMs) {
        if (undone.length === 0) return;
        await ctx.pause(wait);
        undone = await attempt(undone);
      }
      const reason = `Cloudflare rejected the key ${RESEND.afterMs.length + 1} times without giving a reason.`;
      failed.push(...undone.map((item) => ({ key: keyOf(item), reason })));
    },
  );
  return { done, failed, error };
}

/**
 * Runs `work` on several batches at once. After a failure, no new batch starts. Never throws, but returns the first
 * failure.
 */
async function inParallel<T>(
  source: Iterable<Batch<T>>,
  most: { readonly batches: number; readonly bytes: number },
  work: (batch: Batch<T>) => Promise<void>,
): Promise<Error | undefined> {
  const failures: Error[] = [];
  const running = new Set<Promise<void>>();
  let bytes = 0;
  for (const batch of source) {
    while (running.size >= most.batches || (running.size > 0 && bytes + batch.bytes > most.bytes))
      await Promise.race(running);
    if (failures.length > 0) break;
    bytes += batch.bytes;
    const run = work(batch)
      .catch(
        (error: unknown) => void failures.push(error instanceof Error ? error : new Error(String(error))),
      )
      .finally(() => {
        bytes -= batch.bytes;
        running.delete(run);
      });
    running.add(run);
    await nextTurn(); // Let this request reach the network before the next body is built.
  }
  await Promise.all(running);
  return failures[0];
}

/** The minimum time between two progress messages. */
const LINE_EVERY_MS = 5_000;

/** Reports an operation's progress, unless the operation takes only a few seconds. */
export function progressReporter(work: {
  readonly say: EntriesContext["say"];
  /** The resource's name in messages. */
  readonly who: string;
  readonly what: string;
  readonly total: number;
}): (more: number) => void {
  const { say, who, what, total } = work;
  let reportedMs = performance.now();
  let done = 0;
  return (more) => {
    done += more;
    const now = performance.now();
    if (now - reportedMs < LINE_EVERY_MS || done === total) return;
    reportedMs = now;
    say.info(`${who}: ${formatNumber(done)} of ${formatNumber(total)} ${what}`);
  };
}
