import { LOGPUSH } from "../limits";
import { childrenOf, isLeaf, readFilter, type CheckedFilter, type Group, type Node } from "./filter-read";

/** A filter as the text that is sent, what it means, its size as Cloudflare counts it, and its tree for people. */

/** JSON without white space, in the author's order; a comparison alone is put into a group, as Cloudflare's examples have it. */
export function compileFilter(filter: CheckedFilter): string {
  return JSON.stringify({ where: withOrderedMembers(grouped(filter)) });
}

function grouped({ where }: CheckedFilter): Group {
  return isLeaf(where) ? { and: [where] } : where;
}

/** Members in one order. */
function withOrderedMembers(node: Node): Node {
  if (isLeaf(node)) return { key: node.key, operator: node.operator, value: node.value };
  return "and" in node ? { and: node.and.map(withOrderedMembers) } : { or: node.or.map(withOrderedMembers) };
}

/** The same for filters that let the same lines through, whatever the order of a group's conditions or a list's elements. */
export function canonicalFilter(filter: CheckedFilter): string {
  return JSON.stringify({ where: sorted(grouped(filter)) });
}

function sorted(node: Node): Node {
  if (isLeaf(node)) {
    const { key, operator, value } = node;
    return { key, operator, value: typeof value === "string" ? value : inOrder(value) };
  }
  const children = inOrder(childrenOf(node).map(sorted));
  return "and" in node ? { and: children } : { or: children };
}

function inOrder<T>(elements: readonly T[]): readonly T[] {
  return elements
    .map((element) => ({ element, text: JSON.stringify(element) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ element }) => element);
}

/** What a recorded filter means; a text that is no filter stands for itself, and no filter is the empty text. */
export function filterMeaning(text: unknown): string {
  if (typeof text !== "string" || text === "") return "";
  const read = readFilter(text);
  return "filter" in read ? canonicalFilter(read.filter) : text;
}

export interface FilterSize {
  /** Comparisons, and groups. */
  readonly operators: number;
  /** UTF-8, before the text is escaped into the request. */
  readonly bytes: number;
}

export function sizeOf(filter: CheckedFilter): FilterSize {
  return { operators: operatorsIn(grouped(filter)), bytes: Buffer.byteLength(compileFilter(filter)) };
}

function operatorsIn(node: Node): number {
  return isLeaf(node) ? 1 : childrenOf(node).reduce((sum, child) => sum + operatorsIn(child), 1);
}

/** One sentence where the filter is larger than the service takes. */
export function sizeProblem(filter: CheckedFilter): string | undefined {
  const { operators, bytes } = sizeOf(filter);
  const parts = [
    operators > LOGPUSH.MAX_FILTER_OPERATORS &&
      `has ${operators} operators (each comparison, each "and" and "or"); the service takes about ${LOGPUSH.MAX_FILTER_OPERATORS}`,
    bytes > LOGPUSH.MAX_FILTER_BYTES &&
      `is ${bytes} bytes; the service takes about ${LOGPUSH.MAX_FILTER_BYTES}`,
  ].filter((part) => part !== false);
  if (parts.length === 0) return undefined;
  return `${parts.join(", and ")}. Write several eq as one in, or split the job; filterChecks: "warn" sends it all the same.`;
}

/**
 * A filter as an indented tree, a line for each comparison and group. A text that is no filter stays as it is.
 *
 * ```text
 * all of
 *   ClientRequestHost eq "example.com"
 *   EdgeResponseStatus geq "500"
 * ```
 */
export function filterTree(filter: string): readonly string[] {
  const read = readFilter(filter);
  return "filter" in read ? [...lines(read.filter.where, "")] : filter.split("\n");
}

function* lines(node: Node, indent: string): Generator<string> {
  if (isLeaf(node)) {
    yield `${indent}${node.key} ${node.operator} ${JSON.stringify(node.value)}`;
    return;
  }
  yield `${indent}${"and" in node ? "all of" : "any of"}`;
  for (const child of childrenOf(node)) yield* lines(child, `${indent}  `);
}
