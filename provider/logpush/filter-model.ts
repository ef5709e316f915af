import type { FieldType } from "./dataset-fields";

/**
 * The filter of a log-push job as data (seed 002, "Filter"; operators: facts 7.3, the vendor's page of filters).
 */

/** How an operator is used: what its value is, and what fields it applies to. */
interface OperatorUse {
  readonly value: "one" | "list";
  readonly on: readonly FieldType[];
}

const NUMBERS = ["int", "float", "int or string"] as const;

const equality: OperatorUse = { value: "one", on: ["string", "bool", ...NUMBERS] };
const order: OperatorUse = { value: "one", on: NUMBERS };
const affix: OperatorUse = { value: "one", on: ["string"] };
const containment: OperatorUse = { value: "one", on: ["string", "array[string]", "array[int]"] };
const membership: OperatorUse = { value: "list", on: ["string", ...NUMBERS] };

/** The 14 operators of the service, under its own names. */
export const OPERATORS = {
  eq: equality,
  "!eq": equality,
  lt: order,
  leq: order,
  gt: order,
  geq: order,
  startsWith: affix,
  endsWith: affix,
  "!startsWith": affix,
  "!endsWith": affix,
  contains: containment,
  "!contains": containment,
  in: membership,
  "!in": membership,
} as const satisfies Readonly<Record<string, OperatorUse>>;

export type Operator = keyof typeof OPERATORS;
export const OPERATOR_NAMES = Object.keys(OPERATORS) as readonly Operator[];

export function isOperator(text: unknown): text is Operator {
  return typeof text === "string" && Object.hasOwn(OPERATORS, text);
}

/** A comparison as the service takes it: one value is a text, whatever the field's type; a list keeps its numbers. */
export interface Leaf {
  readonly key: string;
  readonly operator: Operator;
  readonly value: string | readonly (string | number)[];
}

export type Group = { readonly and: readonly Node[] } | { readonly or: readonly Node[] };
export type Node = Leaf | Group;

/** A filter that has been read: every node is what it should be. */
export interface CheckedFilter {
  readonly where: Node;
}

export function childrenOf(group: Group): readonly Node[] {
  return "and" in group ? group.and : group.or;
}

export function isLeaf(node: Node): node is Leaf {
  return "key" in node;
}

/** Where in a filter: `["where", "and", 0, "operator"]`. */
export type FilterPath = readonly (string | number)[];

/** What is wrong, and where in the filter. */
export interface FilterIssue {
  readonly path: FilterPath;
  /** Goes on from the path: `is an empty group; …`. */
  readonly reason: string;
}

/** Every comparison with its place. */
export function* leavesOf(node: Node, path: FilterPath): Generator<{ leaf: Leaf; path: FilterPath }> {
  if (isLeaf(node)) {
    yield { leaf: node, path };
    return;
  }
  const word = "and" in node ? "and" : "or";
  for (const [index, child] of childrenOf(node).entries()) yield* leavesOf(child, [...path, word, index]);
}
