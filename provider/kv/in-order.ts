/** What `work` makes of every item, several at once, in the order of the items. */
export async function* inOrder<T, R>(
  source: Iterable<T> | AsyncIterable<T>,
  most: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const begun: Promise<R>[] = [];
  try {
    for await (const item of source) {
      const result = work(item);
      result.catch(() => undefined); // It is thrown when its turn comes, not before.
      begun.push(result);
      const first = begun.length < most ? undefined : begun.shift();
      if (first !== undefined) yield await first;
    }
    for (let first = begun.shift(); first !== undefined; first = begun.shift()) yield await first;
  } finally {
    await Promise.allSettled(begun);
  }
}
