/** Sorts and searches rows. Doesn't use the DOM, so it can be measured and tested without a browser. */

export type Direction = "ascending" | "descending";
/** The key by which a column is sorted. Undefined means unknown and comes last in both directions. */
export type SortKey = number | string | undefined;

/** Returns the rows sorted by their keys. Rows with the same key keep their order. */
export function sorted<T>(
  rows: readonly T[],
  keyOf: (row: T) => SortKey,
  direction: Direction = "ascending",
): T[] {
  const sign = direction === "ascending" ? 1 : -1;
  const keyed = rows.map((row) => ({ row, key: keyOf(row) }));
  keyed.sort(({ key: a }, { key: b }) => {
    if (a === b) return 0;
    if (a === undefined) return 1;
    if (b === undefined) return -1;
    return a < b ? -sign : sign;
  });
  return keyed.map(({ row }) => row);
}

/** Collects all text in a value for a search, at any depth, but without property names. */
export function searchable(value: unknown): string {
  const words: string[] = [];
  const collect = (each: unknown): void => {
    if (typeof each === "string") words.push(each);
    else if (typeof each === "object" && each !== null) Object.values(each).forEach(collect);
  };
  collect(value);
  return words.join("\n").toLowerCase();
}

/** Whether a text contains every word in a query. */
export function matches(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

/** Splits a search query into lowercase words, for `matches`. */
export function wordsOf(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}
