import { isIP } from "node:net";
import { RULES_LANGUAGE } from "../limits";
import { nearest } from "../runtime/nearest";
import { stringBytes, tokensOf, wordAt, wrongEscape, type Token } from "./tokens";
import type { Condition, Index, Literal, Operand, Range, Value } from "./tree";
import { COMPARISONS, FIELDS, FUNCTIONS, LOGICAL, type Comparison, type Logical } from "./vocabulary";

/** Something about an expression that a reader has to know, and where. */
export interface Remark {
  /** Index of the character it is about. */
  readonly at: number;
  /** Goes on from the place: `www.shop.example is text without quotes. Write "www.shop.example"`. */
  readonly reason: string;
}

export type Parsed = { readonly condition: Condition } | { readonly wrong: Remark };

/** Reads an expression. What cannot be one is told with the first place where it goes wrong. */
export function parseExpression(expression: string): Parsed {
  try {
    return { condition: new Parser(expression).whole() };
  } catch (error) {
    if (error instanceof Misread) return { wrong: error.remark };
    throw error;
  }
}

class Misread extends Error {
  constructor(readonly remark: Remark) {
    super(remark.reason);
  }
}

const SIGNS = {
  comparison: new Map<string, Comparison>(
    Object.entries(COMPARISONS).flatMap(([word, { sign }]) =>
      [word, sign].filter((text) => text !== undefined).map((text) => [text, word as Comparison] as const),
    ),
  ),
  logical: new Map<string, Logical>(
    Object.entries(LOGICAL).flatMap(([word, sign]) =>
      [word, sign].map((text) => [text, word as Logical] as const),
    ),
  ),
};
const RESERVED = new Set([...SIGNS.comparison.keys(), ...SIGNS.logical.keys(), "not", "strict"]);

/** From the weakest operator to the strongest, then the operands. */
class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(readonly expression: string) {
    this.#tokens = tokensOf(expression);
  }

  whole(): Condition {
    const condition = this.#logical("or");
    const after = this.#token;
    if (after.kind === "end") return condition;
    if (after.kind === "close") {
      throw misread(after, `${after.text} closes nothing. Remove it, or open it in front`);
    }
    const near = after.kind === "name" ? nearest(after.text, ["and", "or", "xor"]) : undefined;
    const advice = near === undefined ? JOIN : `Did you mean ${JSON.stringify(near)}?`;
    throw misread(after, after.wrong ?? `${this.#word(after)} follows a complete condition. ${advice}`);
  }

  get #token(): Token {
    return (
      this.#tokens[this.#next] ?? this.#tokens[this.#tokens.length - 1] ?? { kind: "end", text: "", at: 0 }
    );
  }

  #take(): Token {
    const token = this.#token;
    this.#next += 1;
    return token;
  }

  #is(kind: Token["kind"], text: string): boolean {
    return this.#token.kind === kind && this.#token.text === text;
  }

  #accept(kind: Token["kind"], text: string): boolean {
    const found = this.#is(kind, text);
    if (found) this.#next += 1;
    return found;
  }

  /** The token as a person sees it: up to the next space. */
  #word({ kind, text, at }: Token): string {
    if (kind === "string") return "text";
    return kind === "name" || kind === "unreadable" || kind === "number" || kind === "address"
      ? wordAt(this.expression, at)
      : text;
  }

  #logical(operator: Logical): Condition {
    const { at } = this.#token;
    const conditions: Condition[] = [this.#tighter(operator)];
    while (SIGNS.logical.get(this.#token.text) === operator && isWord(this.#token)) {
      this.#next += 1;
      conditions.push(this.#tighter(operator));
    }
    const [only] = conditions;
    return conditions.length === 1 && only !== undefined ? only : { kind: operator, conditions, at };
  }

  #tighter(operator: Logical): Condition {
    if (operator === "or") return this.#logical("xor");
    return operator === "xor" ? this.#logical("and") : this.#single();
  }

  #single(): Condition {
    const start = this.#token;
    const { at } = start;
    if (this.#accept("name", "not") || this.#accept("operator", "!")) {
      return this.#nested(start, () => ({ kind: "not", condition: this.#single(), at }));
    }
    if (this.#accept("open", "(")) {
      return this.#nested(start, () => {
        const inner = this.#logical("or");
        this.#close(start, ")");
        return inner;
      });
    }
    if (this.#accept("name", "true")) return { kind: "constant", value: true, at };
    if (this.#accept("name", "false")) return { kind: "constant", value: false, at };
    return this.#comparison();
  }

  #nested<T>(start: Token, read: () => T): T {
    this.#depth += 1;
    if (this.#depth > RULES_LANGUAGE.MAX_NESTING) {
      throw misread(
        start,
        `is nested deeper than ${RULES_LANGUAGE.MAX_NESTING} levels. Take parentheses out`,
      );
    }
    const result = read();
    this.#depth -= 1;
    return result;
  }

  #close(opened: Token, closing: string): void {
    if (this.#accept("close", closing)) return;
    const found = this.#token;
    if (found.kind === "end")
      throw misread(opened, `${opened.text} is never closed. Add the missing ${closing}`);
    if (found.wrong !== undefined) throw misread(found, found.wrong);
    if (found.kind === "close")
      throw misread(found, `${found.text} cannot close ${opened.text}. Write ${closing}`);
    const word = this.#word(found);
    throw misread(
      found,
      `${word} stands where ${closing === ")" ? "an operator, a comma or )" : closing} belongs`,
    );
  }

  #comparison(): Condition {
    const { at } = this.#token;
    const value = this.#value();
    const operator = this.#operator();
    if (operator === undefined) return { kind: "test", value, at };
    const operand = this.#operand(operator);
    return { kind: "comparison", value, operator, operand, at };
  }

  #operator(): Comparison | undefined {
    const token = this.#token;
    if (!isWord(token)) {
      const isSign = token.kind === "unreadable" && token.text.startsWith("=");
      if (isSign) throw misread(token, `${token.text} is no operator. Write eq or ==`);
      return undefined;
    }
    if (SIGNS.logical.has(token.text)) return undefined;
    if (this.#accept("name", "strict")) {
      if (this.#accept("name", "wildcard")) return "strict wildcard";
      throw misread(token, 'strict stands only in front of wildcard: write strict wildcard "…"');
    }
    const operator = SIGNS.comparison.get(token.text);
    if (operator !== undefined) {
      this.#next += 1;
      return operator;
    }
    if (token.kind !== "name") return undefined;
    const isCondition = FIELDS.has(token.text) || token.text === "not";
    throw misread(
      token,
      isCondition
        ? `${token.text} follows a complete condition. ${JOIN}`
        : `${token.text} is no operator. ${meantOperator(token.text)}`,
    );
  }

  #value(): Value {
    const token = this.#take();
    const { text: name, at } = token;
    if (token.kind !== "name" || RESERVED.has(name)) throw misread(token, this.#noOperand(token));
    if (!this.#is("open", "(")) return { kind: "field", name, indexes: this.#indexes(), at };
    const opened = this.#take();
    const args = this.#nested(opened, () => this.#arguments(opened));
    return { kind: "call", name, args, indexes: this.#indexes(), at };
  }

  #noOperand(token: Token): string {
    if (token.wrong !== undefined) return token.wrong;
    if (token.kind === "end") {
      return this.expression.trim() === "" ? "selects no requests" : "a condition is missing at the end";
    }
    if (token.kind === "close") return `a condition is missing in front of ${token.text}`;
    if (token.text.startsWith("'")) return SINGLE_QUOTES;
    const word = this.#word(token);
    if (token.kind === "string")
      return 'text stands where a field belongs: the field comes first, as in http.host eq "…"';
    return RESERVED.has(token.text)
      ? `a condition is missing in front of ${word}`
      : `${word} stands where a field belongs, as in http.host eq "…"`;
  }

  #arguments(opened: Token): (Value | Literal | Condition)[] {
    const args: (Value | Literal | Condition)[] = [];
    if (this.#accept("close", ")")) return args;
    do args.push(this.#argument());
    while (this.#accept("operator", ","));
    this.#close(opened, ")");
    return args;
  }

  #argument(): Value | Literal | Condition {
    if (["string", "number", "address"].includes(this.#token.kind)) return this.#literal(false);
    const condition = this.#logical("or");
    return condition.kind === "test" ? condition.value : condition;
  }

  #indexes(): Index[] {
    const indexes: Index[] = [];
    while (this.#is("open", "[")) {
      const opened = this.#take();
      const token = this.#take();
      const value = token.kind === "number" ? Number(token.text) : Number.NaN;
      if (token.kind === "operator" && token.text === "*") indexes.push({ kind: "each" });
      else if (token.kind === "string") indexes.push({ kind: "key", bytes: this.#bytes(token, false) });
      else if (value >= 0) indexes.push({ kind: "number", value });
      else {
        throw misread(
          token,
          token.wrong ??
            'in [ ] stands a key in quotes, a number from 0, or *: headers["name"], names[0], names[*]',
        );
      }
      this.#close(opened, "]");
    }
    return indexes;
  }

  #operand(operator: Comparison): Operand {
    const token = this.#token;
    const { at } = token;
    if (operator !== "in") {
      if (this.#is("open", "{"))
        throw misread(token, `${operator} compares with one value. Write in {…} for several`);
      if (token.kind === "list")
        throw misread(token, `${operator} compares with one value. Write in ${token.text} for a list`);
      return this.#literal(operator === "matches", operator);
    }
    if (token.kind === "list") return { kind: "list", name: this.#take().text.slice(1), at };
    if (!this.#accept("open", "{")) {
      throw misread(
        token,
        token.wrong ?? `in needs a set in braces, with spaces in between, or a list: in {…} or in $list`,
      );
    }
    const items: (Literal | Range)[] = [];
    while (!this.#is("close", "}")) {
      if (this.#token.kind === "end" || this.#token.kind === "close") break;
      if (this.#is("operator", ","))
        throw misread(this.#token, "a set has no commas: separate its values with spaces");
      items.push(this.#item());
    }
    if (items.length === 0) throw misread(token, "the set is empty. Name at least one value");
    this.#close(token, "}");
    return { kind: "set", items, at };
  }

  #item(): Literal | Range {
    const from = this.#literal(false, "in");
    if (!this.#accept("operator", "..")) return from;
    const to = this.#literal(false, "in");
    const isPair = from.type === to.type && (from.type === "Number" || from.type === "IP");
    if (!isPair)
      throw new Misread({ at: from.at, reason: "a range goes from one number or address to another" });
    if (from.type === "Number" && BigInt(from.value) > BigInt(to.value)) {
      throw new Misread({
        at: from.at,
        reason: `the range begins above its end: write ${to.value}..${from.value}`,
      });
    }
    return { kind: "range", from, to, at: from.at };
  }

  #literal(isRegex: boolean, operator?: Comparison): Literal {
    const token = this.#take();
    const { text, at } = token;
    if (token.kind === "string")
      return { kind: "literal", type: "String", value: this.#bytes(token, isRegex), at };
    if (token.kind === "number") {
      return { kind: "literal", type: "Number", value: decimal(text), at };
    }
    if (token.kind === "address") return addressOf(token);
    if (token.kind === "name" && operator !== undefined && /^(?:true|false)$/.test(text)) {
      return { kind: "literal", type: "Boolean", value: text, at };
    }
    throw misread(token, this.#noLiteral(token, operator));
  }

  #noLiteral(token: Token, operator: Comparison | undefined): string {
    if (token.wrong !== undefined) return token.wrong;
    if (token.text.startsWith("'") || token.text.startsWith("‘")) return SINGLE_QUOTES;
    if (
      token.kind === "end" ||
      token.kind === "close" ||
      SIGNS.logical.has(token.text) ||
      token.kind === "operator"
    ) {
      return `the value after ${operator ?? "the operator"} is missing`;
    }
    const word = this.#word(token);
    if (token.kind === "open") return `${word} stands where text, a number or an address belongs`;
    if (token.kind === "name" && this.#is("open", "(")) {
      return `${token.text}(…) stands where a value belongs: a field is compared with text, a number or an address`;
    }
    return `${word} is text without quotes. Write "${word}"`;
  }

  #bytes(token: Token, isRegex: boolean): string {
    const wrong = isRegex ? undefined : wrongEscape(token.text);
    if (wrong !== undefined) {
      const reason =
        'a backslash stands here that escapes nothing. Write \\\\ for a backslash, or a raw string: r"…"';
      throw new Misread({ at: token.at + wrong, reason });
    }
    return stringBytes(token.text, isRegex);
  }
}

const JOIN = "Join conditions with and, or, xor";
const SINGLE_QUOTES = 'text stands in other quotes than ". Write "…"';

function misread({ at }: Token, reason: string): Misread {
  return new Misread({ at, reason });
}

/** A word or a sign: what an operator may be. */
function isWord({ kind }: Token): boolean {
  return kind === "name" || kind === "operator";
}

function meantOperator(text: string): string {
  if (FUNCTIONS.has(text)) return `It is a function: write ${text}(field, "…")`;
  const lower = text.toLowerCase();
  const known = [...SIGNS.comparison.keys(), ...SIGNS.logical.keys()].filter((word) => /^[a-z]/.test(word));
  if (known.includes(lower)) return `Operators are written in lower case: ${lower}`;
  const meant = SYNONYMS[lower] ?? nearest(lower, known);
  return meant === undefined
    ? `Operators: ${Object.keys(COMPARISONS).join(", ")}`
    : `Did you mean ${JSON.stringify(meant)}?`;
}

/** What other languages call it. */
const SYNONYMS: Readonly<Record<string, string>> = {
  equals: "eq",
  equal: "eq",
  is: "eq",
  like: "wildcard",
  regex: "matches",
  includes: "contains",
  gte: "ge",
  lte: "le",
};

function decimal(text: string): string {
  const isOctal = /^0[0-7]+$/.test(text);
  return BigInt(isOctal ? `0o${text.slice(1)}` : text).toString();
}

function addressOf({ text, at }: Token): Literal {
  const [address = "", length, ...more] = text.split("/");
  const version = isIP(address);
  if (version === 0) {
    if (/^[0-9a-f]{2}(?::[0-9a-f]{2})+$/i.test(text)) {
      const value = Buffer.from(text.replaceAll(":", ""), "hex").toString("latin1");
      return { kind: "literal", type: "String", value, at };
    }
    throw new Misread({ at, reason: `${text} is no IP address` });
  }
  const most = version === 4 ? 32 : 128;
  if (more.length > 0 || Number(length ?? 0) > most) {
    throw new Misread({ at, reason: `${text} is no network: the prefix has at most ${most} bits` });
  }
  return { kind: "literal", type: "IP", value: text.toLowerCase(), at };
}
