import { describe, propertyPath } from "../runtime/inputs";
import { nearest } from "../runtime/nearest";
import { isBag, own, type Bag } from "../runtime/values";
import {
  isOperator,
  OPERATOR_NAMES,
  OPERATORS,
  type CheckedFilter,
  type FilterIssue,
  type FilterPath,
  type Leaf,
  type Node,
} from "./filter-model";

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
 * right comes out in the form the service takes, one value as a text whatever the field's type.
 */
export function readFilter(given: unknown): ReadResult {
  const issues: FilterIssue[] = [];
  const json = typeof given === "string" ? parse(given, issues) : given;
  if (issues.length > 0) return { issues };
  const where = readRoot(json, issues);
  return where === undefined || issues.length > 0 ? { issues } : { filter: { where } };
}

/** @throws FilterError naming every place that is wrong. */
export function mustRead(given: unknown): CheckedFilter {
  const result = readFilter(given);
  if ("filter" in result) return result.filter;
  throw new FilterError(result.issues);
}

/** Groups in groups beyond this are no filter: each is an operator, and the service takes about 30. */
const DEEPEST = 100;

const SHAPE = '{"where": {"and": [{"key": "…", "operator": "eq", "value": "…"}]}}';

function parse(text: string, issues: FilterIssue[]): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    issues.push({ path: [], reason: `is no JSON (${why}); it has to look like ${SHAPE}` });
    return undefined;
  }
}

function readRoot(json: unknown, issues: FilterIssue[]): Node | undefined {
  if (!isBag(json)) {
    issues.push({ path: [], reason: `has to be an object like ${SHAPE}; it is ${describe(json)}` });
    return undefined;
  }
  if (json["where"] === undefined) {
    issues.push({ path: [], reason: `has no "where"; write {"where": …} around its conditions` });
    return undefined;
  }
  refuseOthers(json, ["where"], [], issues);
  return readNode(json["where"], ["where"], issues);
}

const LEAF = ["key", "operator", "value"];
const GROUPS = ["and", "or"];

function readNode(json: unknown, path: FilterPath, issues: FilterIssue[]): Node | undefined {
  const refuse = (reason: string): Node | undefined => {
    issues.push({ path, reason });
    return undefined;
  };
  if (path.length > 2 * DEEPEST)
    return refuse(`lies more than ${DEEPEST} groups deep; make the filter flatter`);
  if (!isBag(json)) {
    return refuse(`has to be a comparison or a group of them; it is ${describe(json)}`);
  }
  const own = Object.keys(json).filter((key) => json[key] !== undefined);
  const groups = own.filter((key) => GROUPS.includes(key));
  const members = own.filter((key) => LEAF.includes(key));
  if (groups.length > 0 && members.length > 0) {
    return refuse(
      `is a comparison and a group at once: it has ${quoted([...members, ...groups])}. Put the comparison into the group`,
    );
  }
  if (groups.length > 1) return refuse('has both "and" and "or"; put one of them into the other');
  const [word] = groups;
  if (word !== undefined) {
    refuseOthers(json, groups, path, issues);
    return readGroup(word === "and" ? "and" : "or", json[word], [...path, word], issues);
  }
  if (members.length === 0) {
    return refuse(
      `is neither a comparison, {"key", "operator", "value"}, nor a group, {"and": […]} or {"or": […]}${own.length === 0 ? "" : `; it has ${quoted(own)}`}`,
    );
  }
  refuseOthers(json, LEAF, path, issues);
  return readLeaf(json, path, issues);
}

function readGroup(
  word: "and" | "or",
  children: unknown,
  path: FilterPath,
  issues: FilterIssue[],
): Node | undefined {
  if (!Array.isArray(children)) {
    issues.push({ path, reason: `has to be a list of conditions; it is ${describe(children)}` });
    return undefined;
  }
  if (children.length === 0) {
    issues.push({ path, reason: "is an empty group; a group holds at least one condition" });
    return undefined;
  }
  const nodes = children
    .map((child, index) => readNode(child, [...path, index], issues))
    .filter((node) => node !== undefined);
  return word === "and" ? { and: nodes } : { or: nodes };
}

function readLeaf(json: Bag, path: FilterPath, issues: FilterIssue[]): Leaf | undefined {
  const { key, operator, value } = json;
  const before = issues.length;
  if (typeof key !== "string" || key === "") {
    issues.push({ path: [...path, "key"], reason: `has to be the name of a log field; it is ${shown(key)}` });
  }
  if (!isOperator(operator)) {
    issues.push({ path: [...path, "operator"], reason: unknownOperator(operator) });
    return undefined;
  }
  const read =
    OPERATORS[operator].value === "list"
      ? readList(operator, value, [...path, "value"], issues)
      : readOne(operator, value, [...path, "value"], issues);
  return issues.length > before || typeof key !== "string" || read === undefined
    ? undefined
    : { key, operator, value: read };
}

function readOne(
  operator: string,
  value: unknown,
  path: FilterPath,
  issues: FilterIssue[],
): string | undefined {
  if (typeof value === "string") return value;
  if (isInexact(value)) {
    issues.push({ path, reason: INEXACT });
    return undefined;
  }
  if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value)))
    return String(value);
  const advice = Array.isArray(value) ? `; for a list there are "in" and "!in"` : "";
  issues.push({
    path,
    reason: `has to be a text, a number, true or false for ${operator}; it is ${shown(value)}${advice}`,
  });
  return undefined;
}

const INEXACT = `is a whole number larger than ${Number.MAX_SAFE_INTEGER}, of which digits are lost here; write it as a text, in quotes`;

const isInexact = (value: unknown): boolean => Number.isInteger(value) && !Number.isSafeInteger(value);

function readList(
  operator: string,
  value: unknown,
  path: FilterPath,
  issues: FilterIssue[],
): readonly (string | number)[] | undefined {
  if (!Array.isArray(value)) {
    const hint = typeof value === "string" && value.includes(",") ? ", not a text with commas" : "";
    issues.push({ path, reason: `has to be a list for ${operator}${hint}; it is ${shown(value)}` });
    return undefined;
  }
  if (value.length === 0) {
    issues.push({ path, reason: "is an empty list, which no line is in; name at least one value" });
    return undefined;
  }
  const elements: (string | number)[] = [];
  for (const [index, element] of (value as readonly unknown[]).entries()) {
    const fits = typeof element === "string" || (typeof element === "number" && Number.isFinite(element));
    if (isInexact(element)) issues.push({ path: [...path, index], reason: INEXACT });
    else if (fits) elements.push(element);
    else
      issues.push({
        path: [...path, index],
        reason: `has to be a text or a number; it is ${shown(element)}`,
      });
  }
  const odd = elements.findIndex((element) => typeof element !== typeof elements[0]);
  if (odd > 0 && elements.length === value.length) {
    issues.push({
      path: [...path, odd],
      reason: `is ${describe(elements[odd])} in a list that began with ${describe(elements[0])}; a field holds texts or numbers, not both`,
    });
  }
  return elements;
}

/** How other tools, and one example of the OpenAPI, write operators. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
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
  notEq: "!eq",
  notIn: "!in",
  nin: "!in",
  notContains: "!contains",
  notStartsWith: "!startsWith",
  notEndsWith: "!endsWith",
};

function unknownOperator(operator: unknown): string {
  if (typeof operator !== "string") {
    return `has to be one of ${OPERATOR_NAMES.join(", ")}; it is ${shown(operator)}`;
  }
  const meant = own(OTHER_NAMES, operator) ?? nearest(operator, OPERATOR_NAMES);
  const advice =
    meant === undefined
      ? `Operators: ${OPERATOR_NAMES.join(", ")}`
      : `Did you mean ${JSON.stringify(meant)}?`;
  return `is ${describe(operator)}, which is no operator. ${advice}`;
}

function refuseOthers(json: Bag, known: readonly string[], path: FilterPath, issues: FilterIssue[]): void {
  const others = Object.keys(json).filter((key) => json[key] !== undefined && !known.includes(key));
  if (others.length > 0)
    issues.push({ path, reason: `knows ${quoted(known)} only; it has ${quoted(others)}` });
}

function shown(value: unknown): string {
  if (value === null) return "null";
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : describe(value);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(", ");
}
