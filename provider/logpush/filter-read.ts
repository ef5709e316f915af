import { describe, propertyPath } from "../runtime/inputs";
import { nearest } from "../runtime/nearest";
import { isJsonObject, ownMember, type JsonObject } from "../runtime/values";
import type { FieldType } from "./dataset-fields";

/**
 * The filter of a Logpush job as data, and how it is read: from what the builders make, or from JSON. Source: Cloudflare's
 * page of filters, and OpenAPI, `logpush_filter`.
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

/** The 14 operators under Cloudflare's names, each with its builder's. */
export const OPERATORS = {
  eq: { builder: "eq", ...equality },
  "!eq": { builder: "notEq", ...equality },
  lt: { builder: "lt", ...order },
  leq: { builder: "leq", ...order },
  gt: { builder: "gt", ...order },
  geq: { builder: "geq", ...order },
  startsWith: { builder: "startsWith", ...affix },
  endsWith: { builder: "endsWith", ...affix },
  "!startsWith": { builder: "notStartsWith", ...affix },
  "!endsWith": { builder: "notEndsWith", ...affix },
  contains: { builder: "contains", ...containment },
  "!contains": { builder: "notContains", ...containment },
  in: { builder: "in", ...membership },
  "!in": { builder: "notIn", ...membership },
} as const satisfies Readonly<Record<string, OperatorUse & { readonly builder: string }>>;

export type Operator = keyof typeof OPERATORS;
export const OPERATOR_NAMES = Object.keys(OPERATORS) as readonly Operator[];

export function isOperator(text: unknown): text is Operator {
  return typeof text === "string" && Object.hasOwn(OPERATORS, text);
}

/** A comparison as Cloudflare takes it: one value is a text, whatever the field's type; a list keeps its numbers. */
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

/** A filter that cannot be read: where, and why. */
export class FilterError extends Error {
  override readonly name = "FilterError";
  constructor(readonly issues: readonly FilterIssue[]) {
    super(
      issues
        .map(({ path, reason }) => `${propertyPath(["filter", ...path])} ${reason.replace(/\.$/, "")}`)
        .join("; ") + ".",
    );
  }
}

export type ReadResult = { readonly filter: CheckedFilter } | { readonly issues: readonly FilterIssue[] };

/**
 * Reads a filter: the builders' object, or its JSON as a text. Everything that is wrong is named with its place; what is
 * right comes out in the form Cloudflare takes, one value as a text whatever the field's type.
 */
export function readFilter(given: unknown): ReadResult {
  const { issues, where } = new Reader(given);
  return where === null || issues.length > 0 ? { issues } : { filter: { where } };
}

/** @throws FilterError naming every place that is wrong. */
export function parseFilter(given: unknown): CheckedFilter {
  const result = readFilter(given);
  if ("filter" in result) return result.filter;
  throw new FilterError(result.issues);
}

/** Groups in groups beyond this are no filter: each is an operator, and Cloudflare takes about 30. */
const MAX_DEPTH = 100;

const SHAPE = '{"where": {"and": [{"key": "…", "operator": "eq", "value": "…"}]}}';
const LEAF = ["key", "operator", "value"];
const GROUPS = ["and", "or"];
const INEXACT_REASON = `is a whole number larger than ${Number.MAX_SAFE_INTEGER}, of which digits are lost here; write it as a text, in quotes`;

/** Goes on after what is wrong, so that all of it is named. `null` stands for what could not be read. */
class Reader {
  readonly issues: FilterIssue[] = [];
  readonly where: Node | null;

  constructor(given: unknown) {
    this.where = this.#root(given);
  }

  #refuse(path: FilterPath, reason: string): null {
    this.issues.push({ path, reason });
    return null;
  }

  #refuseOthers(json: JsonObject, known: readonly string[], path: FilterPath): void {
    const others = keysOf(json).filter((key) => !known.includes(key));
    if (others.length > 0) this.#refuse(path, `knows ${quoted(known)} only; it has ${quoted(others)}`);
  }

  #root(given: unknown): Node | null {
    let json = given;
    if (typeof given === "string") {
      try {
        json = JSON.parse(given);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        return this.#refuse([], `is no JSON (${why}); it has to look like ${SHAPE}`);
      }
    }
    if (!isJsonObject(json))
      return this.#refuse([], `has to be an object like ${SHAPE}; it is ${describe(json)}`);
    if (json["where"] === undefined)
      return this.#refuse([], `has no "where"; write {"where": …} around its conditions`);
    this.#refuseOthers(json, ["where"], []);
    return this.#node(json["where"], ["where"]);
  }

  #node(json: unknown, path: FilterPath): Node | null {
    if (path.length > 2 * MAX_DEPTH)
      return this.#refuse(path, `lies more than ${MAX_DEPTH} groups deep; make the filter flatter`);
    if (!isJsonObject(json))
      return this.#refuse(path, `has to be a comparison or a group of them; it is ${describe(json)}`);
    const keys = keysOf(json);
    const groups = keys.filter((key) => GROUPS.includes(key));
    const members = keys.filter((key) => LEAF.includes(key));
    if (groups.length > 0 && members.length > 0) {
      return this.#refuse(
        path,
        `is a comparison and a group at once: it has ${quoted([...members, ...groups])}. Put the comparison into the group`,
      );
    }
    if (groups.length > 1)
      return this.#refuse(path, 'has both "and" and "or"; put one of them into the other');
    const [word] = groups;
    if (word === undefined && members.length === 0) {
      return this.#refuse(
        path,
        `is neither a comparison, {"key", "operator", "value"}, nor a group, {"and": […]} or {"or": […]}${keys.length === 0 ? "" : `; it has ${quoted(keys)}`}`,
      );
    }
    this.#refuseOthers(json, word === undefined ? LEAF : groups, path);
    return word === undefined ? this.#leaf(json, path) : this.#group(word, json[word], [...path, word]);
  }

  #group(word: string, children: unknown, path: FilterPath): Node | null {
    if (!Array.isArray(children))
      return this.#refuse(path, `has to be a list of conditions; it is ${describe(children)}`);
    if (children.length === 0)
      return this.#refuse(path, "is an empty group; a group holds at least one condition");
    const nodes = children
      .map((child, index) => this.#node(child, [...path, index]))
      .filter((node) => node !== null);
    return word === "and" ? { and: nodes } : { or: nodes };
  }

  #leaf({ key, operator, value }: JsonObject, path: FilterPath): Leaf | null {
    if (typeof key !== "string" || key === "")
      this.#refuse([...path, "key"], `has to be the name of a log field; it is ${describeValue(key)}`);
    if (!isOperator(operator)) return this.#refuse([...path, "operator"], unknownOperator(operator));
    const at = [...path, "value"];
    const isList = OPERATORS[operator].value === "list";
    const read = isList ? this.#list(operator, value, at) : this.#one(operator, value, at);
    return typeof key !== "string" || read === null ? null : { key, operator, value: read };
  }

  #one(operator: Operator, value: unknown, path: FilterPath): string | null {
    if (typeof value === "string") return value;
    if (isInexact(value)) return this.#refuse(path, INEXACT_REASON);
    if (typeof value === "boolean" || isFiniteNumber(value)) return String(value);
    const advice = Array.isArray(value) ? `; for a list there are "in" and "!in"` : "";
    return this.#refuse(
      path,
      `has to be a text, a number, true or false for ${operator}; it is ${describeValue(value)}${advice}`,
    );
  }

  #list(operator: Operator, value: unknown, path: FilterPath): readonly (string | number)[] | null {
    if (!Array.isArray(value)) {
      const hint = typeof value === "string" && value.includes(",") ? ", not a text with commas" : "";
      return this.#refuse(path, `has to be a list for ${operator}${hint}; it is ${describeValue(value)}`);
    }
    if (value.length === 0)
      return this.#refuse(path, "is an empty list, which no line is in; name at least one value");
    const elements: (string | number)[] = [];
    for (const [index, element] of (value as readonly unknown[]).entries()) {
      if (isInexact(element)) this.#refuse([...path, index], INEXACT_REASON);
      else if (typeof element === "string" || isFiniteNumber(element)) elements.push(element);
      else this.#refuse([...path, index], `has to be a text or a number; it is ${describeValue(element)}`);
    }
    const odd = elements.findIndex((element) => typeof element !== typeof elements[0]);
    if (odd > 0 && elements.length === value.length) {
      this.#refuse(
        [...path, odd],
        `is ${describe(elements[odd])} in a list that began with ${describe(elements[0])}; a field holds texts or numbers, not both`,
      );
    }
    return elements;
  }
}

function keysOf(json: JsonObject): string[] {
  return Object.keys(json).filter((key) => json[key] !== undefined);
}

function isInexact(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** How other tools, and one example of the OpenAPI, write operators. */
const FOREIGN_OPERATORS: Readonly<Record<string, Operator>> = {
  neq: "!eq",
  ne: "!eq",
  "!=": "!eq",
  "==": "eq",
  "=": "eq",
  "<": "lt",
  "<=": "leq",
  lte: "leq",
  le: "leq",
  ">": "gt",
  ">=": "geq",
  gte: "geq",
  ge: "geq",
  nin: "!in",
};

function unknownOperator(operator: unknown): string {
  if (typeof operator !== "string")
    return `has to be one of ${OPERATOR_NAMES.join(", ")}; it is ${describeValue(operator)}`;
  const meant =
    ownMember(FOREIGN_OPERATORS, operator) ??
    OPERATOR_NAMES.find((name) => OPERATORS[name].builder === operator) ??
    nearest(operator, OPERATOR_NAMES);
  const advice =
    meant === undefined
      ? `Operators: ${OPERATOR_NAMES.join(", ")}`
      : `Did you mean ${JSON.stringify(meant)}?`;
  return `is ${describe(operator)}, which is no operator. ${advice}`;
}

function describeValue(value: unknown): string {
  if (value === null) return "null";
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : describe(value);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(", ");
}
