/** The engine's counts for one zone, or why it failed. */
export type Outcome = { readonly changes: string } | { readonly failure: string };

export interface Finished<T> {
  readonly item: T;
  readonly outcome: Outcome;
  readonly seconds: number;
}

/**
 * Works on all items, at most `parallel` at a time. A failure doesn't stop the others. Results are in the order of the items.
 */
export async function fanOut<T>(
  items: readonly T[],
  parallel: number,
  work: (item: T) => Promise<string>,
): Promise<Finished<T>[]> {
  const finished = new Map<T, Finished<T>>();
  const waiting = [...items];

  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      const start = Date.now();
      const outcome = await work(item).then(
        (changes): Outcome => ({ changes }),
        (error: unknown): Outcome => ({ failure: error instanceof Error ? error.message : String(error) }),
      );
      finished.set(item, { item, outcome, seconds: (Date.now() - start) / 1000 });
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, worker));
  return items.flatMap((item) => finished.get(item) ?? []);
}
