import { LOGPUSH } from "../limits";
import { childrenOf, isLeaf, type CheckedFilter, type Leaf, type Node } from "./filter-model";
import { readFilter } from "./filter-read";

/** A filter as the text that is sent, what it means, and its size as the service counts it. */

/** JSON without white space, in the author's order; a comparison alone is put into a group, as the seed shows it. */
export function compileFilter({ where }: CheckedFilter): string {
  return JSON.stringify({ where: written(isLeaf(where) ? { and: [where] } : where) });
}

/** Members in one order. */
function written(node: Node): Node {
  if (isLeaf(node)) return { key: node.key, operator: node.operator, value: node.value };
  return "and" in node ? { and: node.and.map(written) } : { or: node.or.map(written) };
}

/** The same for filters that let the same lines through, whatever the order of a group's conditions or a list's elements. */
export function meaningOf(filter: CheckedFilter): string {
  const where = isLeaf(filter.where) ? { and: [filter.where] } : filter.where;
  return JSON.stringify({ where: sorted(where) });
}

function sorted(node: Node): Node {
  if (isLeaf(node)) return sortedLeaf(node);
  const children = childrenOf(node)
    .map(sorted)
    .map((child) => ({ child, text: JSON.stringify(child) }))
    .sort((a, b) => byText(a.text, b.text))
    .map(({ child }) => child);
  return "and" in node ? { and: children } : { or: children };
}

function sortedLeaf({ key, operator, value }: Leaf): Leaf {
  if (typeof value === "string") return { key, operator, value };
  return { key, operator, value: [...value].sort((a, b) => byText(JSON.stringify(a), JSON.stringify(b))) };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** What a recorded filter means; a text that is no filter stands for itself, and no filter is the empty text. */
export function filterMeaning(text: unknown): string {
  if (typeof text !== "string" || text === "") return "";
  const read = readFilter(text);
  return "filter" in read ? meaningOf(read.filter) : text;
}

export interface FilterSize {
  /** Comparisons, and groups. */
  readonly operators: number;
  /** UTF-8, before the text is escaped into the request. */
  readonly bytes: number;
}

export function sizeOf(filter: CheckedFilter): FilterSize {
  const where = isLeaf(filter.where) ? { and: [filter.where] } : filter.where;
  return { operators: operatorsIn(where), bytes: Buffer.byteLength(compileFilter(filter)) };
}

function operatorsIn(node: Node): number {
  return isLeaf(node) ? 1 : childrenOf(node).reduce((sum, child) => sum + operatorsIn(child), 1);
}

/** One sentence where the filter is larger than the service takes. */
export function sizeProblem(filter: CheckedFilter): string | undefined {
  const { operators, bytes } = sizeOf(filter);
  const parts = [
    ...(operators > LOGPUSH.MAX_FILTER_OPERATORS
      ? [
          `has ${operators} operators (each comparison, each "and" and "or"); the service takes about ${LOGPUSH.MAX_FILTER_OPERATORS}`,
        ]
      : []),
    ...(bytes > LOGPUSH.MAX_FILTER_BYTES
      ? [`is ${bytes} bytes; the service takes about ${LOGPUSH.MAX_FILTER_BYTES}`]
      : []),
  ];
  if (parts.length === 0) return undefined;
  return `${parts.join(", and ")}. Write several eq as one in, or split the job; filterChecks: "warn" sends it all the same.`;
}
