import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { ApiError, mayHaveBeenApplied } from "../api/errors";
import { KV } from "../limits";
import {
  advice,
  type EntriesContext,
  isNamespaceGone,
  isUnknownRoute,
  type NamespaceAddress,
  namespacePath,
  subjectOf,
} from "./address";
import { type Batch, batches, Body, textBytes } from "./batches";
import type { Row, Writable } from "./catalog";
import { count } from "./entry";

/**
 * Bulk writes and deletes: what a resource or a command sends is cut into batches, these go out side by side, and what
 * Cloudflare left undone is sent again.
 */

interface BulkRequest<T> extends NamespaceAddress {
  readonly ctx: EntriesContext;
  /** Called for what Cloudflare has confirmed, as soon as it has. */
  readonly onDone: (items: readonly T[], answeredAtSeconds: number) => void;
  /** Called for what may have been carried out or not: the request was broken off. */
  readonly onUncertain?: (items: readonly T[]) => void;
}

export interface UploadRequest extends BulkRequest<Row> {
  readonly entries: Writable;
  /** Which of them are to be written; none that has expired already. */
  readonly rows: readonly Row[];
}

export interface RemoveRequest extends BulkRequest<string> {
  readonly keys: readonly string[];
}

export interface BulkOutcome {
  /** Entries or keys that Cloudflare has confirmed. */
  readonly done: number;
  /** What Cloudflare refuses one by one; it did not keep it from taking the others. */
  readonly failed: readonly Refused[];
  /** Why it ended early: Cloudflare, the source, or a cancellation. */
  readonly error: Error | undefined;
}

/** A key that Cloudflare did not take, and why. */
export interface Refused {
  readonly key: string;
  readonly reason: string;
}

/**
 * Writes entries. Never throws: what was written until it ended is the caller's to record. A batch whose outcome nobody
 * knows counts as not written, for writing it again does no harm.
 */
export async function upload(request: UploadRequest): Promise<BulkOutcome> {
  const { ctx, namespaceId, entries, rows } = request;
  const keyOf = ({ key }: Row): string => key;
  return await carryOut(request, rows, {
    what: "entries written",
    keyOf,
    bytesOf: ({ sentBytes }) => sentBytes,
    send: async (some) => {
      const body = new Body(some.map(({ sentBytes }) => sentBytes));
      await entries.fill(body, some);
      return await ctx.api.put(`${namespacePath(request)}/bulk`, {
        what: `Writing ${named(some, keyOf, "entries")} to namespace ${namespaceId}`,
        schema: unsuccessfulKeys,
        body: body.done(),
        advice,
      });
    },
  });
}

/** Deletes keys, as `upload` writes entries. A key that does not exist, or whose namespace is gone, is removed. */
export async function remove(request: RemoveRequest): Promise<BulkOutcome> {
  const { ctx, namespaceId, keys } = request;
  const keyOf = (key: string): string => key;
  const path = `${namespacePath(request)}/bulk`;
  let isGone = false;
  let method: "POST" | "DELETE" = "POST";

  const send = async (some: readonly string[], as: typeof method): Promise<readonly string[]> => {
    const { result } = await ctx.api.send(as, as === "POST" ? `${path}/delete` : path, {
      what: `Deleting ${named(some, keyOf, "keys")} of namespace ${namespaceId}`,
      schema: unsuccessfulKeys,
      body: some,
      repeatable: true,
      advice,
    });
    method = as;
    return result;
  };
  /** Where the API does not know the operation, it may know its older form (D37). */
  const sendInEitherForm = async (some: readonly string[]): Promise<readonly string[]> => {
    try {
      return await send(some, method);
    } catch (error) {
      if (method === "DELETE" || !isUnknownRoute(error)) throw error;
      return await send(some, "DELETE");
    }
  };
  return await carryOut(request, keys, {
    what: "keys deleted",
    keyOf,
    bytesOf: textBytes,
    send: async (some) => {
      if (isGone) return [];
      try {
        return await sendInEitherForm(some);
      } catch (error) {
        if (!isNamespaceGone(error)) throw error;
        isGone = true;
        return [];
      }
    },
  });
}

/** The keys that Cloudflare left undone. It answers nothing, an empty object, a sentence, or counts with them (D36). */
const unsuccessfulKeys = z
  .union([z.null(), z.string(), z.looseObject({ unsuccessful_keys: z.array(z.string()).nullish() })])
  .transform((result) => (typeof result === "object" && result?.unsuccessful_keys) || []);

/** `key "a"` for one, `12 entries` for more: a refusal of one item names it. */
function named<T>(items: readonly T[], keyOf: (item: T) => string, plural: string): string {
  const [first, ...more] = items;
  return first !== undefined && more.length === 0
    ? `key ${JSON.stringify(keyOf(first))}`
    : `${items.length} ${plural}`;
}

/** When what Cloudflare left undone is sent again. */
export const AGAIN = {
  /** Waits before each attempt; a key takes one write per second (facts 9.1). */
  afterMs: [1_000, 2_000, 4_000],
} as const;

interface Operation<T> {
  /** As in `entries written`. */
  readonly what: string;
  readonly keyOf: (item: T) => string;
  /** Bytes of the item's JSON. */
  readonly bytesOf: (item: T) => number;
  /** One request. Gives the keys for which Cloudflare says that it did nothing. */
  readonly send: (items: readonly T[]) => Promise<readonly string[]>;
}

/** Sends batches side by side, within the client's concurrency and the memory that bodies may take. */
async function carryOut<T>(
  { ctx, namespaceId, onDone, onUncertain }: BulkRequest<T>,
  items: readonly T[],
  { what, keyOf, bytesOf, send }: Operation<T>,
): Promise<BulkOutcome> {
  const tell = progressOf({ say: ctx.say, who: subjectOf(ctx, namespaceId), what, total: items.length });
  const failed: Refused[] = [];
  let done = 0;

  /** Gives the items that Cloudflare left undone without a reason. */
  const attempt = async (some: readonly T[]): Promise<readonly T[]> => {
    try {
      const unsuccessful = new Set(await send(some));
      const confirmed = some.filter((item) => !unsuccessful.has(keyOf(item)));
      if (confirmed.length > 0) {
        onDone(confirmed, Math.floor(ctx.api.now() / 1000)); // A lifetime is counted from it, as Cloudflare counts.
        done += confirmed.length;
        tell(confirmed.length);
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
      // One half after the other: side by side they would take the memory of two batches.
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
      for (const wait of AGAIN.afterMs) {
        if (undone.length === 0) return;
        await ctx.pause(wait);
        undone = await attempt(undone);
      }
      const reason = `The service named it as unsuccessful ${AGAIN.afterMs.length + 1} times and gave no reason.`;
      failed.push(...undone.map((item) => ({ key: keyOf(item), reason })));
    },
  );
  return { done, failed, error };
}

/**
 * Does `work` with every batch, several at once. After a failure no batch begins; those that have begun are finished.
 * Never throws: gives the first failure.
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
    await nextTurn(); // What has begun reaches the network before the next one is made.
  }
  await Promise.all(running);
  return failures[0];
}

/** Shortest time between two lines about the same work. */
const LINE_EVERY_MS = 5_000;

/** Says how far long work has come, each time that more is done. Work that is done within seconds is not mentioned. */
export function progressOf(work: {
  readonly say: EntriesContext["say"];
  /** The resource, as messages name it. */
  readonly who: string;
  readonly what: string;
  readonly total: number;
}): (more: number) => void {
  const { say, who, what, total } = work;
  const startedMs = performance.now();
  let saidMs = startedMs;
  let done = 0;
  return (more) => {
    done += more;
    const now = performance.now();
    if (now - saidMs < LINE_EVERY_MS || done === total) return;
    saidMs = now;
    const rate = done / ((now - startedMs) / 1000);
    const seconds = (total - done) / rate;
    const left = seconds <= 120 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
    say.info(
      `${who}: ${count(done)} of ${count(total)} ${what}, ${count(Number(rate.toPrecision(2)))} per second, about ${left} left`,
    );
  };
}
