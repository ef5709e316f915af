import { describe } from "../basics/json";
import { nearest } from "../basics/nearest";
import { isFilterable, type FieldType } from "./dataset-fields";
import {
  leavesOf,
  OPERATOR_NAMES,
  OPERATORS,
  type CheckedFilter,
  type FilterIssue,
  type Leaf,
  type Operator,
} from "./filter-read";

/** Checks a filter against the fields of its dataset. */

export interface FieldList {
  readonly dataset: string;
  /** The type of each field. Undefined if a field exists but its type is unknown. */
  readonly types: ReadonlyMap<string, FieldType | undefined>;
  /**
   * Whether the list is complete. If it is, using any other field is an error. The API's list is complete; the list in
   * Cloudflare's docs isn't.
   */
  readonly complete: boolean;
  /** Whether to report only fields that don't exist. */
  readonly existenceOnly?: boolean;
}

export function fieldIssues({ where }: CheckedFilter, fields: FieldList): FilterIssue[] {
  return [...leavesOf(where, ["where"])].flatMap(({ leaf, path }) =>
    leafIssues(leaf, fields).map(({ at, reason }) => ({ path: [...path, ...at], reason })),
  );
}

/** A problem with a comparison, and the property that causes it. */
interface LeafIssue {
  readonly at: readonly (string | number)[];
  readonly reason: string;
}

function leafIssues(leaf: Leaf, fields: FieldList): readonly LeafIssue[] {
  const { dataset, types, complete, existenceOnly = false } = fields;
  const { key } = leaf;
  if (!types.has(key)) return complete ? [{ at: ["key"], reason: unknownField(key, fields) }] : [];
  if (existenceOnly) return [];
  if (!isFilterable(dataset, key)) {
    const reason = `${key} can't be used in a filter of dataset ${dataset}. Choose another field`;
    return [{ at: ["key"], reason }];
  }
  const type = types.get(key);
  return type === undefined ? [] : typeIssues(leaf, type);
}

/** Returns the message about a field that a dataset doesn't have. It suggests a field with a similar name. */
export function unknownField(name: string, { dataset, types }: Pick<FieldList, "dataset" | "types">): string {
  const near = nearest(name, [...types.keys()]);
  const advice =
    near === undefined ? "List its fields with getLogpushFields." : `Did you mean ${JSON.stringify(near)}?`;
  return `${JSON.stringify(name)} is not a field of dataset ${dataset}. ${advice}`;
}

function typeIssues({ key, operator, value }: Leaf, type: FieldType): readonly LeafIssue[] {
  const fitting = OPERATOR_NAMES.filter((name) => allows(name, type));
  if (fitting.length === 0) {
    const reason = `${key} has type ${type}, which no filter can use. Choose a field with a single value`;
    return [{ at: ["key"], reason }];
  }
  if (!allows(operator, type)) {
    const reason = `${operator} doesn't work with ${key}, a field of type ${type}. Use one of: ${fitting.join(", ")}`;
    return [{ at: ["operator"], reason }];
  }
  const field = `since ${key} is a field of type ${type}`;
  if (typeof value === "string") {
    const expected = expectedValue(value, type);
    if (expected === undefined) return [];
    return [{ at: ["value"], reason: `must be ${expected}, not ${describe(value)}, ${field}` }];
  }
  const element = elementType(type);
  const expected = element === "number" ? "a number without quotes" : "a string";
  return value.flatMap((each, index) =>
    element === undefined || typeof each === element
      ? []
      : [{ at: ["value", index], reason: `must be ${expected}, not ${describe(each)}, ${field}` }],
  );
}

function allows(operator: Operator, type: FieldType): boolean {
  const on: readonly FieldType[] = OPERATORS[operator].on;
  return on.includes(type);
}

/** Returns which values a field of the given type accepts. Undefined if the given value is one of them. */
function expectedValue(value: string, type: FieldType): string | undefined {
  switch (type) {
    case "int":
    case "array[int]":
      return /^-?\d+$/.test(value) ? undefined : "a whole number";
    case "float":
      return /^-?\d+(\.\d+)?$/.test(value) ? undefined : "a number";
    case "bool":
      return value === "true" || value === "false" ? undefined : "true or false";
    case "int or string":
      return /^\d+$/.test(value) || isTime(value)
        ? undefined
        : "a number or a time like 2025-01-31T00:00:00Z";
    default:
      return undefined;
  }
}

function elementType(type: FieldType): "string" | "number" | undefined {
  if (type === "string") return "string";
  return type === "int" || type === "float" ? "number" : undefined;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Whether the value is an RFC 3339 time. */
export function isTime(text: string): boolean {
  return TIME.test(text) && !Number.isNaN(Date.parse(text));
}
