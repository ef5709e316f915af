import { BlockList, isIP } from "node:net";
import { parseExpression } from "./parse";
import type { Condition, Literal, Operand, Range, Value } from "./tree";

/** Decides whether an expression matches a request of which only some fields are known. */

/** The fields of a request that are known, by name. */
export type KnownFields = Readonly<Record<string, string>>;

/** Returns a predicate that's undefined if the known fields don't decide, or if the expression can't be read. */
export function matcher(expression: string): (fields: KnownFields) => boolean | undefined {
  const parsed = parseExpression(expression);
  if ("error" in parsed) return () => undefined;
  return (fields) => holds(parsed.condition, fields);
}

function holds(condition: Condition, fields: KnownFields): boolean | undefined {
  switch (condition.kind) {
    case "constant":
      return condition.value;
    case "not": {
      const inner = holds(condition.condition, fields);
      return inner === undefined ? undefined : !inner;
    }
    case "test":
      return called(condition.value, fields);
    case "comparison": {
      const text = textOf(condition.value, fields);
      return text === undefined ? undefined : compares(text, condition.operator, condition.operand);
    }
    case "xor": {
      const parts = condition.conditions.map((part) => holds(part, fields));
      return parts.includes(undefined) ? undefined : parts.filter((part) => part === true).length % 2 === 1;
    }
    default: {
      const parts = condition.conditions.map((part) => holds(part, fields));
      const decisive = condition.kind === "or";
      if (parts.includes(decisive)) return decisive;
      return parts.includes(undefined) ? undefined : !decisive;
    }
  }
}

/** The result of a function that returns whether something holds. */
function called(value: Value, fields: KnownFields): boolean | undefined {
  if (value.kind !== "call" || value.args.length !== 2) return undefined;
  const [of, given] = value.args;
  const text = of === undefined ? undefined : textOf(of, fields);
  if (text === undefined || given?.kind !== "literal" || given.type !== "String") return undefined;
  if (value.name === "starts_with") return text.startsWith(given.value);
  return value.name === "ends_with" ? text.endsWith(given.value) : undefined;
}

/** Returns a value as bytes, one character each, as strings are in the tree. */
function textOf(value: Value | Literal | Condition, fields: KnownFields): string | undefined {
  if (value.kind === "field" && value.indexes.length === 0 && Object.hasOwn(fields, value.name))
    return Buffer.from(fields[value.name] ?? "", "utf8").toString("latin1");
  const [only] = value.kind === "call" ? value.args : [];
  if (value.kind !== "call" || only === undefined || value.args.length > 1) return undefined;
  const inner = textOf(only, fields);
  const inAscii = (change: (letters: string) => string): string | undefined =>
    inner?.replace(/[A-Za-z]+/g, change);
  if (value.name === "lower") return inAscii((letters) => letters.toLowerCase());
  return value.name === "upper" ? inAscii((letters) => letters.toUpperCase()) : undefined;
}

function compares(text: string, operator: string, operand: Operand): boolean | undefined {
  if (operand.kind === "list") return undefined;
  const items: readonly (Literal | Range)[] = operand.kind === "set" ? operand.items : [operand];
  switch (operator) {
    case "in":
    case "eq":
    case "ne": {
      const equal = items.map((item) => equals(text, item));
      const found = equal.includes(true) ? true : equal.includes(undefined) ? undefined : false;
      return found === undefined || operator !== "ne" ? found : !found;
    }
    case "contains":
      return operand.kind === "literal" && operand.type === "String"
        ? text.includes(operand.value)
        : undefined;
    default:
      return undefined; // A regular expression of another language, or an order of bytes.
  }
}

function equals(text: string, item: Literal | Range): boolean | undefined {
  if (item.kind === "literal" && item.type === "String") return text === item.value;
  const family = isIP(text) === 6 ? "ipv6" : "ipv4";
  const [from, to] = item.kind === "range" ? [item.from, item.to] : [item, undefined];
  if (from.type !== "IP" || isIP(text) === 0) return undefined;
  const [address = "", length] = from.value.split("/");
  const itsFamily = isIP(address) === 6 ? "ipv6" : "ipv4";
  const list = new BlockList();
  if (to !== undefined) list.addRange(address, to.value, itsFamily);
  else if (length === undefined) list.addAddress(address, itsFamily);
  else list.addSubnet(address, Number(length), itsFamily);
  return list.check(text, family);
}
