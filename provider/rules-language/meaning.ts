import { RULES_LANGUAGE } from "../limits";
import { parseExpression } from "./parse";
import { tokensOf, type Token } from "./tokens";
import type { Condition, Index, Literal, Operand, Range, Value } from "./tree";
import { COMPARISONS, LOGICAL } from "./vocabulary";

/** What an expression means: one text for all ways of writing it, and whether one provably matches all that another does. */

/**
 * One text for what means the same: white space, parentheses, operators as words or signs, the order of operands, a
 * double `not`, a raw string or a quoted one. Undefined for what is no expression.
 */
export function canonicalExpression(expression: string): string | undefined {
  const meaning = meaningOf(expression);
  return meaning === undefined ? undefined : textOf(meaning);
}

/**
 * Whether `wider` provably matches every request that `narrower` matches: both mean the same, an operand of `or` or a value
 * of a set was added, an operand of `and` was taken out. False is no proof of the contrary. Of what is no expression,
 * only the same text is known to match the same.
 */
export function isWiderOrEqual(wider: string, narrower: string): boolean {
  if (wider.trim() === narrower.trim()) return true;
  const [one, other] = [meaningOf(wider), meaningOf(narrower)];
  return one !== undefined && other !== undefined && new Implication().holds(other, one);
}

/** The words of an expression, whatever the white space between them, with operators as words; of what is no expression, the text. */
export function wordingOf(expression: string): string {
  const tokens = tokensOf(expression);
  const isReadable = tokens.every(({ kind }) => kind !== "unreadable");
  return isReadable ? tokens.map(wordOf).join(" ").trim() : expression.trim();
}

const WORDS = new Map<string, string>([
  ...Object.entries(COMPARISONS).flatMap(([word, { sign }]) =>
    sign === undefined ? [] : [[sign, word] as const],
  ),
  ...Object.entries(LOGICAL).map(([word, sign]) => [sign, word] as const),
  ["!", "not"],
]);

function wordOf({ kind, text }: Token): string {
  return kind === "operator" ? (WORDS.get(text) ?? text) : text;
}

/** A condition without `at`, its operands flat, in order and each once, `not` in front of single conditions alone. */
type Meaning =
  | { readonly kind: "constant"; readonly value: boolean }
  | { readonly kind: "atom"; readonly isNegated: boolean; readonly text: string; readonly members?: Members }
  | { readonly kind: "and" | "or" | "xor"; readonly of: readonly Meaning[]; readonly isNegated?: boolean };

/** Of a comparison with one value or a set: what is compared, and the values. */
interface Members {
  readonly of: string;
  readonly values: ReadonlySet<string>;
}

const ALWAYS: Meaning = { kind: "constant", value: true };
const NEVER: Meaning = { kind: "constant", value: false };

function meaningOf(expression: string): Meaning | undefined {
  if (expression.length > RULES_LANGUAGE.MAX_CHARACTERS) return undefined;
  const parsed = parseExpression(expression);
  return "condition" in parsed ? simplified(parsed.condition, false) : undefined;
}

function simplified(condition: Condition, isNegated: boolean): Meaning {
  switch (condition.kind) {
    case "constant":
      return condition.value === isNegated ? NEVER : ALWAYS;
    case "not":
      return simplified(condition.condition, !isNegated);
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
    case "xor":
      return exclusive(
        condition.conditions.map((part) => simplified(part, false)),
        isNegated,
      );
    default: {
      const kind = (condition.kind === "and") === isNegated ? "or" : "and";
      return joined(
        kind,
        condition.conditions.map((part) => simplified(part, isNegated)),
      );
    }
  }
}

function isNetwork(text: string | undefined): boolean {
  return text !== undefined && /^[0-9a-f.:]+\/\d+$/.test(text);
}

function joined(kind: "and" | "or", parts: readonly Meaning[]): Meaning {
  const decides = kind === "or";
  const flat = parts.flatMap((part) => (part.kind === kind ? part.of : [part]));
  if (flat.some((part) => part.kind === "constant" && part.value === decides))
    return decides ? ALWAYS : NEVER;
  const byText = new Map(flat.filter(({ kind }) => kind !== "constant").map((part) => [textOf(part), part]));
  const of = [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part);
  const [only] = of;
  if (only === undefined) return decides ? NEVER : ALWAYS;
  return of.length === 1 ? only : { kind, of };
}

/** A part twice cancels itself out; constants and `not` turn the whole. */
function exclusive(parts: readonly Meaning[], isNegated: boolean): Meaning {
  let turned = isNegated;
  const odd = new Map<string, Meaning>();
  for (const part of parts.flatMap((each) =>
    each.kind === "xor" ? [...each.of, ...(each.isNegated === true ? [ALWAYS] : [])] : [each],
  )) {
    if (part.kind === "constant") turned = turned !== part.value;
    else if (!odd.delete(textOf(part))) odd.set(textOf(part), part);
  }
  const of = [...odd].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part);
  const [only] = of;
  if (only === undefined) return turned ? ALWAYS : NEVER;
  if (of.length > 1) return { kind: "xor", of, isNegated: turned };
  return turned ? negated(only) : only;
}

function negated(meaning: Meaning): Meaning {
  switch (meaning.kind) {
    case "constant":
      return meaning.value ? NEVER : ALWAYS;
    case "and":
    case "or":
      return joined(meaning.kind === "and" ? "or" : "and", meaning.of.map(negated));
    default:
      return { ...meaning, isNegated: meaning.isNegated !== true };
  }
}

const TEXTS = new WeakMap<Meaning, string>();

function textOf(meaning: Meaning): string {
  const known = TEXTS.get(meaning);
  if (known !== undefined) return known;
  const text = write(meaning);
  TEXTS.set(meaning, text);
  return text;
}

function write(meaning: Meaning): string {
  if (meaning.kind === "constant") return String(meaning.value);
  if (meaning.kind === "atom") return meaning.isNegated ? `not ${meaning.text}` : meaning.text;
  const text = meaning.of
    .map((part) => ("of" in part && part.isNegated !== true ? `(${textOf(part)})` : textOf(part)))
    .join(` ${meaning.kind} `);
  return meaning.isNegated === true ? `not (${text})` : text;
}

function valueText({ name, indexes, ...value }: Value): string {
  const text = indexes.map(indexText).join("");
  if (value.kind === "field") return name + text;
  const args = value.args.map((arg) => {
    if (arg.kind === "literal") return literalText(arg, false);
    return arg.kind === "field" || arg.kind === "call" ? valueText(arg) : textOf(simplified(arg, false));
  });
  return `${name}(${args.join(", ")})${text}`;
}

export function indexText(index: Index): string {
  if (index.kind === "each") return "[*]";
  return `[${index.kind === "key" ? quoted(index.bytes) : index.value}]`;
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
  if (type === "IP") return addressText(value);
  if (type !== "String") return value;
  return isRegex ? raw(value) : quoted(value);
}

/** An IPv6 address in its shortest form. */
function addressText(value: string): string {
  const [address = "", ...length] = value.split("/");
  const shortest = address.includes(":") ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
  return [shortest, ...length].join("/");
}

/** Bytes as quoted text: ASCII as it is, everything else by its number. */
function quoted(bytes: string): string {
  const escaped = bytes
    .replace(/["\\]/g, "\\$&")
    .replace(/[^ -~]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return `"${escaped}"`;
}

/** A regular expression is written raw: within quotes, Cloudflare leaves its escapes to the expression itself. */
function raw(bytes: string): string {
  const longest = Math.max(-1, ...[...bytes.matchAll(/"(#*)/g)].map(([, hashes = ""]) => hashes.length));
  const hashes = "#".repeat(longest + 1);
  return `r${hashes}"${Buffer.from(bytes, "latin1").toString("utf8")}"${hashes}`;
}

/** Whether one condition follows from another, each pair looked at once. */
class Implication {
  readonly #known = new Map<string, boolean>();

  holds(from: Meaning, to: Meaning): boolean {
    const key = `${textOf(from)}\n${textOf(to)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const result = this.#decide(from, to);
    this.#known.set(key, result);
    return result;
  }

  #decide(from: Meaning, to: Meaning): boolean {
    if (textOf(from) === textOf(to)) return true;
    if (from.kind === "constant" && !from.value) return true;
    if (to.kind === "constant" && to.value) return true;
    if (from.kind === "or") return from.of.every((part) => this.holds(part, to));
    if (to.kind === "and") return to.of.every((part) => this.holds(from, part));
    const single = from.kind === "atom" ? singles(from) : [];
    if (single.length > 1 && to.kind === "or") return single.every((part) => this.holds(part, to));
    if (to.kind === "or" && to.of.some((part) => this.holds(from, part))) return true;
    if (from.kind === "and" && from.of.some((part) => this.holds(part, to))) return true;
    return from.kind === "atom" && to.kind === "atom" && isSubset(from, to);
  }
}

type Atom = Meaning & { readonly kind: "atom" };

/** A set as one comparison for each of its values. */
function singles({ isNegated, members }: Atom): Atom[] {
  if (members === undefined || isNegated) return [];
  return [...members.values].map((value) => ({
    kind: "atom",
    isNegated: false,
    text: `${members.of} eq ${value}`,
    members: { of: members.of, values: new Set([value]) },
  }));
}

function isSubset(from: Atom, to: Atom): boolean {
  if (from.isNegated !== to.isNegated || from.members === undefined || to.members === undefined) return false;
  if (from.members.of !== to.members.of) return false;
  const [inner, outer] = from.isNegated ? [to.members, from.members] : [from.members, to.members];
  return [...inner.values].every((value) => outer.values.has(value));
}
