import { LOGPUSH } from "../limits";
import { childrenOf, isLeaf, readFilter, type CheckedFilter, type Group, type Node } from "./filter-read";

/**
 * Converts a filter to the JSON that's sent, to a canonical form and to a readable tree, and measures its size as
 * Cloudflare does.
 */

/**
 * Compiles a filter to JSON without whitespace. Keeps the order in which it was written. Wraps a single comparison in a
 * group, as Cloudflare's examples do.
 */
export function compileFilter(filter: CheckedFilter): string {
  return JSON.stringify({ where: withOrderedMembers(grouped(filter)) });
}

function grouped({ where }: CheckedFilter): Group {
  return isLeaf(where) ? { and: [where] } : where;
}

/** Puts the properties of each comparison in the same order. */
function withOrderedMembers(node: Node): Node {
  if (isLeaf(node)) return { key: node.key, operator: node.operator, value: node.value };
  return "and" in node ? { and: node.and.map(withOrderedMembers) } : { or: node.or.map(withOrderedMembers) };
}

/**
 * Returns the same text for equivalent filters. The order of a group's conditions or a list's elements doesn't matter.
 */
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

/**
 * Returns the canonical form of a recorded filter. An invalid filter is returned unchanged; if there's no filter, the
 * result is an empty string.
 */
export function filterMeaning(text: unknown): string {
  if (typeof text !== "string" || text === "") return "";
  const read = readFilter(text);
  return "filter" in read ? canonicalFilter(read.filter) : text;
}

export interface FilterSize {
  /** The number of comparisons and groups. */
  readonly operators: number;
  /** The filter's size in UTF-8, before it's escaped for the request. */
  readonly bytes: number;
}

export function sizeOf(filter: CheckedFilter): FilterSize {
  return { operators: operatorsIn(grouped(filter)), bytes: Buffer.byteLength(compileFilter(filter)) };
}

function operatorsIn(node: Node): number {
  return isLeaf(node) ? 1 : childrenOf(node).reduce((sum, child) => sum + operatorsIn(child), 1);
}

/** Returns what's wrong with a filter that's larger than Cloudflare accepts. Undefined if its size is fine. */
export function sizeProblem(filter: CheckedFilter): string | undefined {
  const { operators, bytes } = sizeOf(filter);
  const parts = [
    operators > LOGPUSH.MAX_FILTER_OPERATORS &&
      `has ${operators} operators (each comparison, "and" and "or" counts); Cloudflare accepts about ${LOGPUSH.MAX_FILTER_OPERATORS}`,
    bytes > LOGPUSH.MAX_FILTER_BYTES &&
      `has ${bytes} bytes; Cloudflare accepts about ${LOGPUSH.MAX_FILTER_BYTES}`,
  ].filter((part) => part !== false);
  if (parts.length === 0) return undefined;
  return `${parts.join(", and ")}. Combine several "eq" into one "in", or split the job.`;
}

/**
 * Formats a filter as an indented tree, with one line per comparison or group. An invalid filter is returned unchanged.
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
