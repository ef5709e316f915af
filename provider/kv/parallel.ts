import { setImmediate as nextTurn } from "node:timers/promises";
import type { Batch } from "./batches";

/**
 * Does `work` with every batch, several at once. After a failure no batch begins; those that have begun are finished.
 * Never throws: gives the first failure.
 */
export async function inParallel<T>(
  source: Iterable<Batch<T>>,
  most: { readonly batches: number; readonly bytes: number },
  work: (batch: Batch<T>) => Promise<void>,
): Promise<Error | undefined> {
  const failures: Error[] = [];
  const running = new Set<Promise<void>>();
  let bytes = 0;
  const begin = (batch: Batch<T>): void => {
    bytes += batch.bytes;
    const run = work(batch)
      .catch((error: unknown) => void failures.push(asError(error)))
      .finally(() => {
        bytes -= batch.bytes;
        running.delete(run);
      });
    running.add(run);
  };
  const fits = (batch: Batch<T>): boolean =>
    running.size === 0 || (running.size < most.batches && bytes + batch.bytes <= most.bytes);

  for (const batch of source) {
    while (!fits(batch)) await Promise.race(running);
    if (failures.length > 0) break;
    begin(batch);
    await nextTurn(); // What has begun reaches the network before the next one is made.
  }
  await Promise.all(running);
  return failures[0];
}

/** What `work` makes of every item, several at once, in the order of the items. */
export async function* inOrder<T, R>(
  source: Iterable<T>,
  most: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const begun: Promise<R>[] = [];
  try {
    for (const item of source) {
      const result = work(item);
      result.catch(() => undefined); // It is thrown when its turn comes, not before.
      begun.push(result);
      if (begun.length >= most) yield await first(begun);
    }
    while (begun.length > 0) yield await first(begun);
  } finally {
    await Promise.allSettled(begun);
  }
}

function first<R>(begun: Promise<R>[]): Promise<R> {
  const [result] = begun.splice(0, 1);
  if (result === undefined) throw new Error("nothing has begun");
  return result;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
