import { childrenOf, isLeaf, type Node } from "./filter-model";
import { readFilter } from "./filter-read";

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
