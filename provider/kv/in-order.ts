/** Runs `work` on several items at once and yields the results in the order of the items. */
export async function* inOrder<T, R>(
  source: Iterable<T> | AsyncIterable<T>,
  most: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const begun: Promise<R>[] = [];
  try {
    for await (const item of source) {
      const result = work(item);
      result.catch(() => undefined); // A failure is thrown only when it's that item's turn.
      begun.push(result);
      const first = begun.length < most ? undefined : begun.shift();
      if (first !== undefined) yield await first;
    }
    for (let first = begun.shift(); first !== undefined; first = begun.shift()) yield await first;
  } finally {
    await Promise.allSettled(begun);
  }
}
