import { ApiError, mayHaveHappened } from "../api/errors";
import { KV } from "../limits";
import type { EntriesContext } from "./address";
import type { Batch } from "./batches";
import { inParallel } from "./parallel";

/** A key that the service did not take, and why. */
export interface Refused {
  readonly key: string;
  readonly reason: string;
}

export interface BulkWork<T> {
  readonly ctx: EntriesContext;
  readonly batches: Iterable<Batch<T>>;
  readonly keyOf: (item: T) => string;
  /** One request. Gives the keys for which the service says that it did nothing. */
  readonly send: (items: readonly T[]) => Promise<readonly string[]>;
  /** What the service has confirmed, as soon as it has. */
  readonly onDone: (items: readonly T[]) => void;
  /** What the service may have carried out or not: the request was broken off. */
  readonly onUncertain: (items: readonly T[]) => void;
}

export interface BulkOutcome {
  readonly failed: readonly Refused[];
  /** Why it ended early. What was confirmed until then stays confirmed. */
  readonly error?: Error;
}

/** When the keys of `unsuccessful_keys` are sent again. */
export const AGAIN = {
  /** Waits before each attempt; a key takes one write per second (facts 9.1). */
  afterMs: [1_000, 2_000, 4_000],
} as const;

/** Sends batches side by side, within the client's concurrency and the memory that bodies may take. */
export async function carryOut<T>(work: BulkWork<T>): Promise<BulkOutcome> {
  const { ctx, keyOf } = work;
  const failed: Refused[] = [];

  /** Gives the items that the service left undone without a reason. */
  const send = async (items: readonly T[]): Promise<readonly T[]> => {
    try {
      const unsuccessful = new Set(await work.send(items));
      if (unsuccessful.size === 0) {
        work.onDone(items);
        return [];
      }
      work.onDone(items.filter((item) => !unsuccessful.has(keyOf(item))));
      return items.filter((item) => unsuccessful.has(keyOf(item)));
    } catch (error) {
      if (mayHaveHappened(error)) work.onUncertain(items);
      if (!(error instanceof ApiError) || error.status !== 413) throw error;
      const [first, second] = items;
      if (first !== undefined && second === undefined) {
        failed.push({ key: keyOf(first), reason: error.message });
        return [];
      }
      // One half after the other: side by side they would take the memory of two batches.
      const middle = Math.ceil(items.length / 2);
      const undone = await send(items.slice(0, middle));
      return [...undone, ...(await send(items.slice(middle)))];
    }
  };

  const error = await inParallel(
    work.batches,
    { batches: ctx.settings.concurrency, bytes: KV.IN_FLIGHT_BYTES },
    async ({ items }) => {
      let undone = await send(items);
      for (const wait of AGAIN.afterMs) {
        if (undone.length === 0) return;
        await ctx.pause(wait);
        undone = await send(undone);
      }
      const reason = `The service named it as unsuccessful ${AGAIN.afterMs.length + 1} times and gave no reason.`;
      failed.push(...undone.map((item) => ({ key: keyOf(item), reason })));
    },
  );
  return { failed, ...(error === undefined ? {} : { error }) };
}
