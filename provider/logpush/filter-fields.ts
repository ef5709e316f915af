import { nearest } from "../runtime/nearest";
import { describe } from "../runtime/inputs";
import { isFilterable, type FieldType } from "./dataset-fields";
import {
  isOperator,
  leavesOf,
  OPERATOR_NAMES,
  OPERATORS,
  type CheckedFilter,
  type FilterIssue,
  type Leaf,
} from "./filter-model";
import { isTime } from "./filter-values";

/** Holds a filter against the fields of its dataset. */

export interface FieldList {
  readonly dataset: string;
  /** Undefined where a field is there and its type is not known. */
  readonly types: ReadonlyMap<string, FieldType | undefined>;
  /** Whether what is not in the list does not exist. The documented list is not the last word, the service's is. */
  readonly complete: boolean;
  /** Look for fields that do not exist, and at nothing else. */
  readonly existenceOnly?: boolean;
}

export function fieldIssues({ where }: CheckedFilter, fields: FieldList): FilterIssue[] {
  const issues: FilterIssue[] = [];
  for (const { leaf, path } of leavesOf(where, ["where"])) {
    const { dataset, types } = fields;
    if (!types.has(leaf.key)) {
      if (fields.complete) issues.push({ path: [...path, "key"], reason: unknownField(leaf.key, fields) });
      continue;
    }
    if (fields.existenceOnly === true) continue;
    if (!isFilterable(dataset, leaf.key)) {
      issues.push({
        path: [...path, "key"],
        reason: `is ${leaf.key}, which the service does not let a filter of ${dataset} use`,
      });
      continue;
    }
    const type = types.get(leaf.key);
    if (type !== undefined) issues.push(...typeIssues(leaf, type, path));
  }
  return issues;
}

/** One sentence for a name that a dataset does not have, with the one that was probably meant. */
export function unknownField(name: string, { dataset, types }: Pick<FieldList, "dataset" | "types">): string {
  const near = nearest(name, [...types.keys()]);
  const advice =
    near === undefined ? "getLogpushFields lists those it has." : `Did you mean ${JSON.stringify(near)}?`;
  return `is ${JSON.stringify(name)}, a field that dataset ${dataset} does not have. ${advice}`;
}

function typeIssues(leaf: Leaf, type: FieldType, path: FilterIssue["path"]): FilterIssue[] {
  const { key, operator, value } = leaf;
  const fitting = OPERATOR_NAMES.filter((name) => allows(name, type));
  if (fitting.length === 0) {
    return [
      {
        path: [...path, "key"],
        reason: `is ${key}, whose type ${type} no filter can use; choose a field that holds one value`,
      },
    ];
  }
  if (!allows(operator, type)) {
    return [
      {
        path: [...path, "operator"],
        reason: `is ${operator}, which does not fit ${key}, a field of type ${type}. Operators for it: ${fitting.join(", ")}`,
      },
    ];
  }
  if (typeof value === "string") {
    const wanted = unfit(value, type);
    return wanted === undefined
      ? []
      : [
          {
            path: [...path, "value"],
            reason: `is ${describe(value)}; ${key} is a field of type ${type} and takes ${wanted}`,
          },
        ];
  }
  const element = elementType(type);
  return value.flatMap((each, index) =>
    element === undefined || typeof each === element
      ? []
      : [
          {
            path: [...path, "value", index],
            reason: `is ${describe(each)}; ${key} is a field of type ${type}, so ${operator} takes ${element === "number" ? "numbers without quotes" : "texts"}`,
          },
        ],
  );
}

function allows(operator: string, type: FieldType): boolean {
  return isOperator(operator) && OPERATORS[operator].on.includes(type);
}

/** What the field takes instead, where the text cannot be a value of it. */
function unfit(value: string, type: FieldType): string | undefined {
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
