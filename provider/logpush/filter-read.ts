import { describe, propertyPath, isJsonObject, ownMember, type JsonObject } from "../basics/json";
import { nearest } from "../basics/nearest";
import type { FieldType } from "./dataset-fields";

/**
 * The filter of a Logpush job as data, read from the builders or from JSON. Source:
 * https://developers.cloudflare.com/logs/logpush/logpush-job/filters/ and `logpush_filter` in Cloudflare's OpenAPI
 * schema.
 */

/** Whether an operator takes one value or a list, and the field types it works with. */
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

/** The 14 operators by Cloudflare's name, each with its builder's name. */
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

/**
 * A comparison in the form that's sent to Cloudflare. A single value is always a string, regardless of the field's
 * type; a list keeps its numbers.
 */
export interface Leaf {
  readonly key: string;
  readonly operator: Operator;
  readonly value: string | readonly (string | number)[];
}

export type Group = { readonly and: readonly Node[] } | { readonly or: readonly Node[] };
export type Node = Leaf | Group;

/** A valid filter. */
export interface CheckedFilter {
  readonly where: Node;
}

export function childrenOf(group: Group): readonly Node[] {
  return "and" in group ? group.and : group.or;
}

export function isLeaf(node: Node): node is Leaf {
  return "key" in node;
}

/** The path to a part of a filter: `["where", "and", 0, "operator"]`. */
export type FilterPath = readonly (string | number)[];

/** A problem with a filter, and where it is. */
export interface FilterIssue {
  readonly path: FilterPath;
  /** The rest of the message, after the path: `must be …`. */
  readonly reason: string;
}

export function issuePath({ path }: FilterIssue): string {
  return propertyPath(["filter", ...path]);
}

/** Returns the issue on one line, such as `filter.where.and[0].operator: must be …`. */
export function issueText(issue: FilterIssue): string {
  return `${issuePath(issue)}: ${issue.reason}`;
}

export function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

/** Yields every comparison with its path. */
export function* leavesOf(node: Node, path: FilterPath): Generator<{ leaf: Leaf; path: FilterPath }> {
  if (isLeaf(node)) {
    yield { leaf: node, path };
    return;
  }
  const word = "and" in node ? "and" : "or";
  for (const [index, child] of childrenOf(node).entries()) yield* leavesOf(child, [...path, word, index]);
}

/** Thrown for an invalid filter. Its message names every problem with its path. */
export class FilterError extends Error {
  override readonly name = "FilterError";
  constructor(
    /** All problems of the filter. */
    readonly issues: readonly FilterIssue[],
  ) {
    super(`${issues.map((issue) => withoutStop(issueText(issue))).join("; ")}.`);
  }
}

export type ReadResult = { readonly filter: CheckedFilter } | { readonly issues: readonly FilterIssue[] };

/**
 * Reads a filter (the builders' object, or JSON as a string) into the form that's sent, or returns all of its problems.
 */
export function readFilter(given: unknown): ReadResult {
  const { issues, where } = new Reader(given);
  return where === null || issues.length > 0 ? { issues } : { filter: { where } };
}

/** @throws FilterError with all of the filter's problems. */
export function parseFilter(given: unknown): CheckedFilter {
  const result = readFilter(given);
  if ("filter" in result) return result.filter;
  throw new FilterError(result.issues);
}

/**
 * The maximum nesting of groups. Cloudflare accepts far less: each group counts as an operator, and the limit is about
 * 30.
 */
const MAX_DEPTH = 100;

const SHAPE = '{"where": {"and": [{"key": "…", "operator": "eq", "value": "…"}]}}';
const LEAF = ["key", "operator", "value"];
const GROUPS = ["and", "or"];
const INEXACT_REASON = `is too large to be exact in JavaScript (the limit is ${Number.MAX_SAFE_INTEGER}). Write it as a string, in quotes`;

/**
 * Reads a filter. Continues after a problem, so that all problems are reported. Parts that couldn't be read are `null`.
 */
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
    if (others.length > 0) this.#refuse(path, `must have only ${quoted(known)}, not ${quoted(others)}`);
  }

  #root(given: unknown): Node | null {
    let json = given;
    if (typeof given === "string") {
      try {
        json = JSON.parse(given);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        return this.#refuse([], `is not valid JSON (${why}). Write it like ${SHAPE}`);
      }
    }
    if (!isJsonObject(json))
      return this.#refuse([], `must be an object like ${SHAPE}, not ${describe(json)}`);
    if (json["where"] === undefined)
      return this.#refuse([], `has no "where". Wrap its conditions in {"where": …}`);
    this.#refuseOthers(json, ["where"], []);
    return this.#node(json["where"], ["where"]);
  }

  #node(json: unknown, path: FilterPath): Node | null {
    if (path.length > 2 * MAX_DEPTH)
      return this.#refuse(path, `is nested more than ${MAX_DEPTH} groups deep. Flatten the filter`);
    if (!isJsonObject(json))
      return this.#refuse(path, `must be a comparison or a group of comparisons, not ${describe(json)}`);
    const keys = keysOf(json);
    const groups = keys.filter((key) => GROUPS.includes(key));
    const members = keys.filter((key) => LEAF.includes(key));
    if (groups.length > 0 && members.length > 0) {
      return this.#refuse(
        path,
        `is both a comparison and a group: it has ${quoted([...members, ...groups])}. Move the comparison into the group`,
      );
    }
    if (groups.length > 1) return this.#refuse(path, 'has both "and" and "or". Nest one in the other');
    const [word] = groups;
    if (word === undefined && members.length === 0) {
      return this.#refuse(
        path,
        `must be a comparison, {"key", "operator", "value"}, or a group, {"and": […]} or {"or": […]}${keys.length === 0 ? "" : `; it has ${quoted(keys)}`}`,
      );
    }
    this.#refuseOthers(json, word === undefined ? LEAF : groups, path);
    return word === undefined ? this.#leaf(json, path) : this.#group(word, json[word], [...path, word]);
  }

  #group(word: string, children: unknown, path: FilterPath): Node | null {
    if (!Array.isArray(children))
      return this.#refuse(path, `must be a list of conditions, not ${describe(children)}`);
    if (children.length === 0) return this.#refuse(path, "is an empty group. Add at least one condition");
    const nodes = children
      .map((child, index) => this.#node(child, [...path, index]))
      .filter((node) => node !== null);
    return word === "and" ? { and: nodes } : { or: nodes };
  }

  #leaf({ key, operator, value }: JsonObject, path: FilterPath): Leaf | null {
    if (typeof key !== "string" || key === "")
      this.#refuse([...path, "key"], `${must(key)} be the name of a log field${insteadOf(key)}`);
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
    const advice = Array.isArray(value) ? `. For a list, use "in" or "!in"` : "";
    return this.#refuse(
      path,
      `${must(value)} be a string, a number, true or false for operator "${operator}"${insteadOf(value)}${advice}`,
    );
  }

  #list(operator: Operator, value: unknown, path: FilterPath): readonly (string | number)[] | null {
    if (!Array.isArray(value)) {
      const what = typeof value === "string" && value.includes(",") ? "the comma-separated string " : "";
      return this.#refuse(
        path,
        `${must(value)} be a list for operator "${operator}"${insteadOf(value, what)}`,
      );
    }
    if (value.length === 0)
      return this.#refuse(path, "is an empty list, which no line can match. Add at least one value");
    const elements: (string | number)[] = [];
    for (const [index, element] of (value as readonly unknown[]).entries()) {
      if (isInexact(element)) this.#refuse([...path, index], INEXACT_REASON);
      else if (typeof element === "string" || isFiniteNumber(element)) elements.push(element);
      else this.#refuse([...path, index], `must be a string or a number${insteadOf(element)}`);
    }
    const odd = elements.findIndex((element) => typeof element !== typeof elements[0]);
    if (odd > 0 && elements.length === value.length) {
      this.#refuse(
        [...path, odd],
        `is ${describe(elements[odd])} in a list that starts with ${describe(elements[0])}. Use only strings or only numbers`,
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

/** Other spellings of the operators, from other tools and from one example in Cloudflare's OpenAPI schema. */
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
    return `${must(operator)} be one of ${OPERATOR_NAMES.join(", ")}${insteadOf(operator)}`;
  const meant =
    ownMember(FOREIGN_OPERATORS, operator) ??
    OPERATOR_NAMES.find((name) => OPERATORS[name].builder === operator) ??
    nearest(operator, OPERATOR_NAMES);
  const advice =
    meant === undefined
      ? `Use one of: ${OPERATOR_NAMES.join(", ")}`
      : `Did you mean ${JSON.stringify(meant)}?`;
  return `${describe(operator)} is not an operator. ${advice}`;
}

function must(value: unknown): string {
  return value === undefined ? "is required and must" : "must";
}

/** Returns the part of a message that quotes the given value. Empty if there is none. */
function insteadOf(value: unknown, what = ""): string {
  return value === undefined ? "" : `, not ${what}${describeValue(value)}`;
}

function describeValue(value: unknown): string {
  if (value === null) return "null";
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : describe(value);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(", ");
}
