import type { Fields, FieldType } from "./fields";
import type { Filter, Leaf } from "./filter";
import { nanosOf } from "./timestamps";

/** A log line: its fields by name, as JSON values. */
export type Line = Readonly<Record<string, unknown>>;

/**
 * Whether a line passes a filter. If the line lacks a field, or the field can't be compared, the comparison fails and its
 * negation passes.
 */
export function passes(filter: Filter | undefined, line: Line, fields: Fields | undefined): boolean {
  if (filter === undefined) return true;
  if ("and" in filter) return filter.and.every((each) => passes(each, line, fields));
  if ("or" in filter) return filter.or.some((each) => passes(each, line, fields));
  return holds(filter, line[filter.key], fields?.get(filter.key));
}

function holds(leaf: Leaf, actual: unknown, type: FieldType | undefined): boolean {
  const { operator } = leaf;
  if (operator.startsWith("!")) {
    return !holds({ ...leaf, operator: operator.slice(1) as Leaf["operator"] }, actual, type);
  }
  const values = Array.isArray(leaf.value) ? (leaf.value as readonly unknown[]) : [leaf.value];
  return values.some((value) => relates(operator, actual, value, type));
}

function relates(
  operator: Leaf["operator"],
  actual: unknown,
  value: unknown,
  type: FieldType | undefined,
): boolean {
  if (operator === "contains" && Array.isArray(actual)) return actual.map(String).includes(String(value));
  if (actual === null || actual === undefined || typeof actual === "object") return false;

  const numeric = type === undefined ? typeof actual === "number" : isNumeric(type);
  const order = numeric ? compare(numberOf(actual, type), numberOf(value, type)) : undefined;
  const [text, wanted] = [asText(actual), asText(value)];
  switch (operator) {
    case "eq":
    case "in":
      return numeric ? order === 0 : text === wanted;
    case "lt":
      return order !== undefined && order < 0;
    case "leq":
      return order !== undefined && order <= 0;
    case "gt":
      return order !== undefined && order > 0;
    case "geq":
      return order !== undefined && order >= 0;
    case "startsWith":
      return text.startsWith(wanted);
    case "endsWith":
      return text.endsWith(wanted);
    case "contains":
      return text.includes(wanted);
    default:
      throw new Error(`unexpected negation ${operator}`);
  }
}

function isNumeric(type: FieldType): boolean {
  return type === "int" || type === "float" || type === "int or string";
}

/** Parses a number. Keeps whole numbers exact, because a double can't represent a timestamp in nanoseconds. */
function numberOf(value: unknown, type: FieldType | undefined): bigint | number | undefined {
  if (type === "int or string") return nanosOf(value);
  const text = asText(value);
  if (/^-?\d+$/.test(text)) return BigInt(text);
  const number = Number(text);
  return text.trim() === "" || Number.isNaN(number) ? undefined : number;
}

function compare(a: bigint | number | undefined, b: bigint | number | undefined): number | undefined {
  if (a === undefined || b === undefined) return undefined;
  return a < b ? -1 : a > b ? 1 : 0;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
