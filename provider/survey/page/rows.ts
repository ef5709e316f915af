/** Sorting and searching, apart from the document, so that they can be measured and tested without a browser. */

export type Direction = "ascending" | "descending";
/** What a column is sorted by. Undefined is what isn't known: it comes last in both directions. */
export type SortKey = number | string | undefined;

/** Returns the rows in the order of their keys. Rows with the same key keep their order. */
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

/** Collects the text of a value and of everything in it, without the names of its members, for a search. */
export function searchable(value: unknown): string {
  const words: string[] = [];
  const collect = (each: unknown): void => {
    if (typeof each === "string") words.push(each);
    else if (typeof each === "object" && each !== null) Object.values(each).forEach(collect);
  };
  collect(value);
  return words.join("\n").toLowerCase();
}

/** Returns whether a text contains every word of a query. */
export function matches(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

/** Returns the words of a query, as `matches` takes them. */
export function wordsOf(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}
