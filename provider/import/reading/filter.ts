import { documentedTypes, type FieldType } from "../../logpush/dataset-fields";
import {
  isLeaf,
  OPERATORS,
  readFilter,
  type Leaf,
  type Node,
  type Operator,
} from "../../logpush/filter-read";
import { call, codeOf, jsonText, type Code } from "../code";

/** Writes a filter as calls to its builders, or as text if there are none or a builder wouldn't accept it. */
export function filterCode(text: string, hasBuilders: boolean): Code {
  const read = readFilter(text);
  if (!("filter" in read)) return codeOf(text);
  if (!hasBuilders) return jsonText(text);
  const node = nodeCode(read.filter.where);
  return node === undefined ? codeOf(text) : call("filter.where", [node], { where: node.value });
}

function nodeCode(node: Node): Code | undefined {
  if (isLeaf(node)) return leafCode(node);
  const [word, children] = "and" in node ? (["and", node.and] as const) : (["or", node.or] as const);
  const codes = children.map(nodeCode).filter((code) => code !== undefined);
  if (codes.length < children.length) return undefined;
  return call(`filter.${word}`, codes, { [word]: codes.map(({ value }) => value) });
}

function leafCode({ key, operator, value }: Leaf): Code | undefined {
  const literal = literalFor(documentedTypes(key), operator, value);
  if (literal === undefined) return undefined;
  return call(`filter.${OPERATORS[operator].builder}`, [key, literal], { key, operator, value });
}

/** Converts the value to the type that the field's builder takes. Undefined if there's no equivalent. */
function literalFor(
  types: readonly FieldType[],
  operator: Operator,
  value: Leaf["value"],
): string | number | boolean | readonly (string | number)[] | undefined {
  const on: readonly FieldType[] = OPERATORS[operator].on;
  const fitting = types.filter((type) => on.includes(type));
  if (types.length > 0 && fitting.length === 0) return undefined;
  const takesText =
    types.length === 0 ||
    fitting.some((type) => ["string", "int or string", "array[string]", "array[int]"].includes(type));
  const takesNumber = types.length === 0 || fitting.some((type) => type !== "string" && type !== "bool");
  if (typeof value !== "string") {
    return value.every((element) => (typeof element === "string" ? takesText : takesNumber))
      ? value
      : undefined;
  }
  if (takesText) return value;
  if (fitting.includes("bool") && /^(true|false)$/.test(value)) return value === "true";
  return takesNumber && value !== "" && String(Number(value)) === value ? Number(value) : undefined;
}
