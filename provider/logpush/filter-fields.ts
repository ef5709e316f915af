import { describe } from "../runtime/inputs";
import { nearest } from "../runtime/nearest";
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

/** Holds a filter against the fields of its dataset. */

export interface FieldList {
  readonly dataset: string;
  /** Undefined where a field is there and its type is not known. */
  readonly types: ReadonlyMap<string, FieldType | undefined>;
  /** Whether what is not in the list does not exist. The documented list is not the last word, Cloudflare's is. */
  readonly complete: boolean;
  /** Look for fields that do not exist, and at nothing else. */
  readonly existenceOnly?: boolean;
}

export function fieldIssues({ where }: CheckedFilter, fields: FieldList): FilterIssue[] {
  return [...leavesOf(where, ["where"])].flatMap(({ leaf, path }) =>
    leafIssues(leaf, fields).map(({ at, reason }) => ({ path: [...path, ...at], reason })),
  );
}

/** What is wrong, and at which member of the comparison. */
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
    const reason = `is ${key}, which the service does not let a filter of ${dataset} use`;
    return [{ at: ["key"], reason }];
  }
  const type = types.get(key);
  return type === undefined ? [] : typeIssues(leaf, type);
}

/** One sentence for a name that a dataset does not have, with the one that was probably meant. */
export function unknownField(name: string, { dataset, types }: Pick<FieldList, "dataset" | "types">): string {
  const near = nearest(name, [...types.keys()]);
  const advice =
    near === undefined ? "getLogpushFields lists those it has." : `Did you mean ${JSON.stringify(near)}?`;
  return `is ${JSON.stringify(name)}, a field that dataset ${dataset} does not have. ${advice}`;
}

function typeIssues({ key, operator, value }: Leaf, type: FieldType): readonly LeafIssue[] {
  const fitting = OPERATOR_NAMES.filter((name) => allows(name, type));
  if (fitting.length === 0) {
    const reason = `is ${key}, whose type ${type} no filter can use; choose a field that holds one value`;
    return [{ at: ["key"], reason }];
  }
  if (!allows(operator, type)) {
    const reason = `is ${operator}, which does not fit ${key}, a field of type ${type}. Operators for it: ${fitting.join(", ")}`;
    return [{ at: ["operator"], reason }];
  }
  const ofType = `${key} is a field of type ${type}`;
  if (typeof value === "string") {
    const wanted = expectedValue(value, type);
    if (wanted === undefined) return [];
    return [{ at: ["value"], reason: `is ${describe(value)}; ${ofType} and takes ${wanted}` }];
  }
  const element = elementType(type);
  const takes = element === "number" ? "numbers without quotes" : "texts";
  return value.flatMap((each, index) =>
    element === undefined || typeof each === element
      ? []
      : [{ at: ["value", index], reason: `is ${describe(each)}; ${ofType}, so ${operator} takes ${takes}` }],
  );
}

function allows(operator: Operator, type: FieldType): boolean {
  const on: readonly FieldType[] = OPERATORS[operator].on;
  return on.includes(type);
}

/** What the field takes instead, where the text cannot be a value of it. */
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
      return /^\d+$/.test(value) || isTime(value) ? undefined : "a number or a time as 2025-01-31T00:00:00Z";
    default:
      return undefined;
  }
}

function elementType(type: FieldType): "string" | "number" | undefined {
  if (type === "string") return "string";
  return type === "int" || type === "float" ? "number" : undefined;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Whether it is a time as RFC 3339 writes it. */
export function isTime(text: string): boolean {
  return TIME.test(text) && !Number.isNaN(Date.parse(text));
}
