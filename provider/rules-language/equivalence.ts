import { compareText } from "../basics/words";
import { RULES_LANGUAGE } from "../limits/index";
import { implies, reduce, type Formula } from "./implication";
import { parseExpression } from "./parse";
import { tokensOf, type Token } from "./tokens";
import type { Condition, Index, Literal, Operand, Range, Value } from "./tree";
import { COMPARISONS, LOGICAL } from "./vocabulary";

/**
 * Compares expressions. Computes a canonical form that's the same for equal expressions, and decides whether one
 * expression provably matches everything that another matches.
 */

/**
 * Returns the same text for equal expressions, regardless of whitespace, parentheses, notation of operators and
 * strings, order of operands, and double `not`. Undefined for an invalid expression.
 */
export function canonicalExpression(expression: string): string | undefined {
  const normalForm = normalFormOf(expression);
  return normalForm === undefined ? undefined : render(normalForm);
}

/**
 * Whether `wider` provably matches every request that `narrower` matches, whatever the results of their comparisons.
 * False proves nothing: comparisons of one field may depend on each other, and an `xor` is compared only as a whole.
 * Invalid expressions must be identical.
 *
 * @param holds the result of a comparison, as for `decide`, if only requests with that result count.
 */
export function isWiderOrEqual(
  wider: string,
  narrower: string,
  holds: (comparison: string) => boolean | undefined = () => undefined,
): boolean {
  if (wider.trim() === narrower.trim()) return true;
  const [one, other] = [wider, narrower].map((text) => {
    const normalForm = normalFormOf(text);
    return normalForm && reduce(formulaOf(normalForm), holds);
  });
  return one !== undefined && other !== undefined && implies(other, one);
}

/**
 * Whether an expression holds, given whether some of its comparisons do. Undefined if that depends on the others, or if
 * the expression can't be read.
 *
 * @param holds receives a comparison in canonical notation, such as `cf.zone.plan eq "ENT"`.
 */
export function decide(
  expression: string,
  holds: (comparison: string) => boolean | undefined,
): boolean | undefined {
  const normalForm = normalFormOf(expression);
  const decided = normalForm && reduce(formulaOf(normalForm), holds);
  return typeof decided === "boolean" ? decided : undefined;
}

/** Rewrites the expression with single spaces and operators as words. An invalid expression is only trimmed. */
export function normalizeNotation(expression: string): string {
  const tokens = tokensOf(expression);
  const isReadable = tokens.every(({ kind }) => kind !== "unreadable");
  return isReadable ? tokens.map(operatorWord).join(" ").trim() : expression.trim();
}

const OPERATOR_WORDS = new Map<string, string>([
  ...Object.entries(COMPARISONS).flatMap(([word, { sign }]) =>
    sign === undefined ? [] : [[sign, word] as const],
  ),
  ...Object.entries(LOGICAL).map(([word, sign]) => [sign, word] as const),
  ["!", "not"],
]);

function operatorWord({ kind, text }: Token): string {
  return kind === "operator" ? (OPERATOR_WORDS.get(text) ?? text) : text;
}

/**
 * A normalized condition: operands are flat, sorted and unique, and `not` appears only before single conditions.
 */
type NormalForm =
  | { readonly kind: "constant"; readonly value: boolean }
  | { readonly kind: "atom"; readonly isNegated: boolean; readonly text: string; readonly members?: Members }
  | { readonly kind: "and" | "or"; readonly of: readonly NormalForm[] };

/** What a comparison compares, and the values that it compares with. */
interface Members {
  readonly of: string;
  readonly values: ReadonlySet<string>;
}

const ALWAYS: NormalForm = { kind: "constant", value: true };
const NEVER: NormalForm = { kind: "constant", value: false };

function normalFormOf(expression: string): NormalForm | undefined {
  if (expression.length > RULES_LANGUAGE.MAX_CHARACTERS) return undefined;
  const parsed = parseExpression(expression);
  return "condition" in parsed ? normalize(parsed.condition, false) : undefined;
}

function normalize(condition: Condition, isNegated: boolean): NormalForm {
  switch (condition.kind) {
    case "constant":
      return condition.value === isNegated ? NEVER : ALWAYS;
    case "not":
      return normalize(condition.condition, !isNegated);
    case "test":
      return { kind: "atom", isNegated, text: valueText(condition.value) };
    case "comparison": {
      const { value, operator, operand } = condition;
      const of = valueText(value);
      if (operator !== "eq" && (operator !== "in" || operand.kind !== "set")) {
        return {
          kind: "atom",
          isNegated,
          text: `${of} ${operator} ${operandText(operand, operator === "matches")}`,
        };
      }
      const values = new Set(
        operand.kind === "set" ? operand.items.map(itemText) : [operandText(operand, false)],
      );
      const sorted = [...values].sort();
      const text =
        sorted.length === 1 && !sorted[0]?.includes("..") && !isNetwork(sorted[0])
          ? `${of} eq ${sorted[0]}`
          : `${of} in {${sorted.join(" ")}}`;
      return { kind: "atom", isNegated, text, members: { of, values } };
    }
    case "xor": {
      const parts = condition.conditions.map((part) => inBrackets(normalize(part, false)));
      return { kind: "atom", isNegated, text: `(${parts.sort().join(" xor ")})` };
    }
    default: {
      const kind = (condition.kind === "and") === isNegated ? "or" : "and";
      return joinAndOr(
        kind,
        condition.conditions.map((part) => normalize(part, isNegated)),
      );
    }
  }
}

function isNetwork(text: string | undefined): boolean {
  return text !== undefined && /^[0-9a-f.:]+\/\d+$/.test(text);
}

function joinAndOr(kind: "and" | "or", parts: readonly NormalForm[]): NormalForm {
  const decides = kind === "or";
  const flat = parts.flatMap((part) => (part.kind === kind ? part.of : [part]));
  if (flat.some((part) => part.kind === "constant" && part.value === decides))
    return decides ? ALWAYS : NEVER;
  const byText = new Map(flat.filter(({ kind }) => kind !== "constant").map((part) => [render(part), part]));
  const of = [...byText].sort(([a], [b]) => compareText(a, b)).map(([, part]) => part);
  const [only] = of;
  if (only === undefined) return decides ? NEVER : ALWAYS;
  return of.length === 1 ? only : { kind, of };
}

function render(form: NormalForm): string {
  if (form.kind === "constant") return String(form.value);
  if (form.kind === "atom") return form.isNegated ? `not ${form.text}` : form.text;
  return form.of.map(inBrackets).join(` ${form.kind} `);
}

const inBrackets = (part: NormalForm): string => ("of" in part ? `(${render(part)})` : render(part));

function valueText({ name, indexes, ...value }: Value): string {
  const text = indexes.map(indexText).join("");
  if (value.kind === "field") return name + text;
  const args = value.args.map((arg) => {
    if (arg.kind === "literal") return literalText(arg, false);
    return arg.kind === "field" || arg.kind === "call" ? valueText(arg) : render(normalize(arg, false));
  });
  return `${name}(${args.join(", ")})${text}`;
}

export function indexText(index: Index): string {
  if (index.kind === "each") return "[*]";
  return `[${index.kind === "key" ? quotedString(index.bytes) : index.value}]`;
}

function operandText(operand: Operand, isRegex: boolean): string {
  if (operand.kind === "list") return `$${operand.name}`;
  if (operand.kind === "literal") return literalText(operand, isRegex);
  return `{${operand.items.map(itemText).sort().join(" ")}}`;
}

function itemText(item: Literal | Range): string {
  return item.kind === "range"
    ? `${literalText(item.from, false)}..${literalText(item.to, false)}`
    : literalText(item, false);
}

function literalText({ type, value }: Literal, isRegex: boolean): string {
  if (type === "IP") return canonicalAddress(value);
  if (type !== "String") return value;
  return isRegex ? rawString(value) : quotedString(value);
}

/** Converts IPv6 addresses to their shortest form. */
function canonicalAddress(value: string): string {
  const [address = "", ...length] = value.split("/");
  const shortest = address.includes(":") ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
  return [shortest, ...length].join("/");
}

/** Writes bytes as a quoted string: printable ASCII unchanged, everything else as an escape. */
export function quotedString(bytes: string): string {
  const escaped = bytes
    .replace(/["\\]/g, "\\$&")
    .replace(/[^ -~]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return `"${escaped}"`;
}

/** Writes a regular expression as a raw string, with enough `#` for the quotes that it contains. */
function rawString(bytes: string): string {
  const longest = Math.max(-1, ...[...bytes.matchAll(/"(#*)/g)].map(([, hashes = ""]) => hashes.length));
  const hashes = "#".repeat(longest + 1);
  return `r${hashes}"${Buffer.from(bytes, "latin1").toString("utf8")}"${hashes}`;
}

/** Converts a condition for comparison. A set becomes one comparison per value. */
function formulaOf(form: NormalForm): Formula {
  switch (form.kind) {
    case "constant":
      return form.value;
    case "atom": {
      const { isNegated, text, members } = form;
      const holds =
        members === undefined
          ? text
          : { or: [...members.values].map((value) => `${members.of} eq ${value}`) };
      return isNegated ? { not: holds } : holds;
    }
    case "and":
      return { and: form.of.map(formulaOf) };
    case "or":
      return { or: form.of.map(formulaOf) };
  }
}
