import type { Limits } from "../limits";
import { isRecord } from "../request";
import { isFilterable } from "./datasets";
import { type Doing, logpushFailures } from "./failures";
import type { Fields, FieldType } from "./fields";

/** Operators by the field types they work with: https://developers.cloudflare.com/logs/logpush/logpush-job/filters/. */
const operators = {
  eq: ["string", "int", "bool"],
  "!eq": ["string", "int", "bool"],
  lt: ["int"],
  leq: ["int"],
  gt: ["int"],
  geq: ["int"],
  startsWith: ["string"],
  endsWith: ["string"],
  "!startsWith": ["string"],
  "!endsWith": ["string"],
  contains: ["string", "array"],
  "!contains": ["string", "array"],
  in: ["string", "int"],
  "!in": ["string", "int"],
} as const satisfies Record<string, readonly Kind[]>;

type Operator = keyof typeof operators;
type Kind = "string" | "int" | "bool" | "array";

export interface Leaf {
  readonly key: string;
  readonly operator: Operator;
  readonly value: string | readonly (string | number)[];
}

export type Filter = Leaf | { readonly and: readonly Filter[] } | { readonly or: readonly Filter[] };

interface FilterContext {
  readonly dataset: string;
  /** The dataset's fields. If undefined, any field is accepted. */
  readonly fields: Fields | undefined;
  readonly doing: Doing;
  readonly limits: Limits;
}

/** Parses a filter as Cloudflare does. Errors have Cloudflare's wording. */
export function parseFilter(text: string, { dataset, fields, doing, limits }: FilterContext): Filter {
  if (Buffer.byteLength(text) > limits.maxLogpushFilterBytes) throw logpushFailures.filterTooLarge();
  const refuse = (why: string) => logpushFailures.badPredicate(doing, why);

  const root = parseJson(text);
  if (!isRecord(root)) throw refuse("not a JSON object");
  if (!("where" in root)) throw refuse("missing key where");
  const others = Object.keys(root).find((name) => name !== "where");
  if (others !== undefined) throw refuse(`unknown key ${others} beside where`);

  const filter = node(root["where"]);
  if (countOperators(filter) > limits.maxLogpushFilterOperators) throw logpushFailures.filterTooLarge();
  return filter;

  function node(json: unknown): Filter {
    if (!isRecord(json)) throw refuse("a node must be an object");
    const logical = ["and", "or"].filter((name) => name in json);
    const [only] = logical;
    if (only === undefined) return leaf(json);
    if (Object.keys(json).length > 1) throw refuse(`${only} must be the only key of its node`);
    const children = json[only];
    if (!Array.isArray(children) || children.length === 0) throw refuse(`${only} needs at least one node`);
    return only === "and" ? { and: children.map(node) } : { or: children.map(node) };
  }

  function leaf(json: Record<string, unknown>): Leaf {
    const { key, operator, value, ...further } = json;
    const [unknown] = Object.keys(further);
    if (unknown !== undefined) throw refuse(`unknown key ${unknown} in a comparison`);
    if (typeof key !== "string") throw refuse("a comparison needs a key");
    if (typeof operator !== "string" || !isOperator(operator)) {
      throw refuse(`unknown operator ${JSON.stringify(operator)}`);
    }
    if (fields === undefined) return { key, operator, value: decode(value, "string", operator) };

    const type = fields.get(key);
    if (type === undefined) throw refuse(`unknown field ${JSON.stringify(key)}`);
    const kind = isFilterable(dataset, key) ? kindOf(type) : undefined;
    if (kind === undefined) throw refuse(`field ${key} cannot be filtered by`);
    if (!(operators[operator] as readonly Kind[]).includes(kind)) {
      throw refuse(`operator ${operator} is not supported for field ${key} of type ${type}`);
    }
    return { key, operator, value: decode(value, kind, operator, type) };
  }

  /**
   * Reads a comparison's value. A single value is a string, regardless of the field's type; only `in` takes an array,
   * with elements of the field's type.
   */
  function decode(value: unknown, kind: Kind, operator: Operator, type?: FieldType): Leaf["value"] {
    const many = operator === "in" || operator === "!in";
    const element = { string: "string", int: "uint64", bool: "bool", array: "string" }[kind];
    const undecodable = refuse(
      `failed to decode value ${JSON.stringify(JSON.stringify(value ?? null))}, supported kinds: ${many ? `[]${element}` : element}`,
    );
    if (many) {
      if (!Array.isArray(value) || value.length === 0) throw undecodable;
      const elements = value.filter((each): each is string | number =>
        type === undefined
          ? typeof each === "string" || typeof each === "number"
          : kind === "int"
            ? typeof each === "number" && (type === "float" || Number.isInteger(each))
            : typeof each === "string",
      );
      if (elements.length < value.length) throw undecodable;
      return elements;
    }
    if (typeof value !== "string") throw undecodable;
    if (kind === "bool" && value !== "true" && value !== "false") throw undecodable;
    if ((kind === "int" || type === "array[int]") && !isNumber(value, type)) throw undecodable;
    return value;
  }
}

function isNumber(value: string, type: FieldType | undefined): boolean {
  if (type === "float") return /^-?\d+(\.\d+)?$/.test(value);
  if (type === "int or string") return isTime(value);
  return /^-?\d+$/.test(value);
}

/** Whether a text is a number of seconds, milliseconds or nanoseconds, or a date with a time zone. */
function isTime(text: string): boolean {
  if (/^\d+$/.test(text)) return true;
  return (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/.test(text) &&
    !Number.isNaN(Date.parse(text))
  );
}

/** Counts comparisons and groups. */
function countOperators(filter: Filter): number {
  const children = "and" in filter ? filter.and : "or" in filter ? filter.or : [];
  return children.reduce((sum, child) => sum + countOperators(child), 1);
}

function kindOf(type: FieldType): Kind | undefined {
  switch (type) {
    case "string":
    case "bool":
      return type;
    case "int":
    case "float":
    case "int or string":
      return "int";
    case "array[string]":
    case "array[int]":
      return "array";
    case "object":
    case "array[object]":
      return undefined;
  }
}

function isOperator(text: string): text is Operator {
  return Object.hasOwn(operators, text);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
