import { isIP } from "node:net";
import { RULES_LANGUAGE } from "../limits/index";
import { nearest } from "../basics/nearest";
import { stringBytes, tokensOf, wordAt, invalidEscapeIndex, type Token } from "./tokens";
import type { Condition, Index, Literal, Operand, Range, Value } from "./tree";
import { COMPARISONS, FIELDS, FUNCTIONS, LOGICAL, type Comparison, type Logical } from "./vocabulary";

/** A problem in an expression, and its position. */
export interface Diagnostic {
  /** The index of the problem's first character. */
  readonly at: number;
  /** What's wrong and what to write instead: `www.shop.example needs quotes. Write "www.shop.example"`. */
  readonly reason: string;
}

export type Parsed = { readonly condition: Condition } | { readonly error: Diagnostic };

/** Parses an expression, or returns its first error. */
export function parseExpression(expression: string): Parsed {
  try {
    return { condition: new Parser(expression).whole() };
  } catch (error) {
    if (error instanceof ExpressionSyntaxError) return { error: error.diagnostic };
    throw error;
  }
}

class ExpressionSyntaxError extends Error {
  constructor(readonly diagnostic: Diagnostic) {
    super(diagnostic.reason);
  }
}

const OPERATORS = {
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
const RESERVED = new Set([...OPERATORS.comparison.keys(), ...OPERATORS.logical.keys(), "not", "strict"]);

/** A recursive descent parser that starts with the operator of lowest precedence. */
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
      throw syntaxError(after, `${after.text} has no opening bracket. Remove it, or add the opening bracket`);
    }
    const near = after.kind === "name" ? nearest(after.text, ["and", "or", "xor"]) : undefined;
    const advice = near === undefined ? JOIN : `Did you mean ${JSON.stringify(near)}?`;
    throw syntaxError(after, after.problem ?? `${this.#word(after)} follows a complete condition. ${advice}`);
  }

  get #token(): Token {
    return (
      this.#tokens[this.#next] ?? this.#tokens[this.#tokens.length - 1] ?? { kind: "end", text: "", at: 0 }
    );
  }

  #advance(): Token {
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

  /** Returns the token's text for messages, up to the next space. */
  #word({ kind, text, at }: Token): string {
    if (kind === "string") return "a string";
    return kind === "name" || kind === "unreadable" || kind === "number" || kind === "address"
      ? wordAt(this.expression, at)
      : text;
  }

  #logical(operator: Logical): Condition {
    const { at } = this.#token;
    const conditions: Condition[] = [this.#operandOf(operator)];
    while (OPERATORS.logical.get(this.#token.text) === operator && isOperatorLike(this.#token)) {
      this.#next += 1;
      conditions.push(this.#operandOf(operator));
    }
    const [only] = conditions;
    return conditions.length === 1 && only !== undefined ? only : { kind: operator, conditions, at };
  }

  #operandOf(operator: Logical): Condition {
    if (operator === "or") return this.#logical("xor");
    return operator === "xor" ? this.#logical("and") : this.#unary();
  }

  #unary(): Condition {
    const start = this.#token;
    const { at } = start;
    if (this.#accept("name", "not") || this.#accept("operator", "!")) {
      return this.#nest(start, () => ({ kind: "not", condition: this.#unary(), at }));
    }
    if (this.#accept("open", "(")) {
      return this.#nest(start, () => {
        const inner = this.#logical("or");
        this.#close(start, ")");
        return inner;
      });
    }
    if (this.#accept("name", "true")) return { kind: "constant", value: true, at };
    if (this.#accept("name", "false")) return { kind: "constant", value: false, at };
    return this.#comparison();
  }

  #nest<T>(start: Token, read: () => T): T {
    this.#depth += 1;
    if (this.#depth > RULES_LANGUAGE.MAX_NESTING) {
      throw syntaxError(
        start,
        `the expression is nested more than ${RULES_LANGUAGE.MAX_NESTING} levels deep. Remove parentheses`,
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
      throw syntaxError(opened, `${opened.text} is never closed. Add the missing ${closing}`);
    if (found.problem !== undefined) throw syntaxError(found, found.problem);
    if (found.kind === "close")
      throw syntaxError(found, `${found.text} doesn't close ${opened.text}. Write ${closing}`);
    const expected = closing === ")" ? "an operator, a comma or )" : closing;
    throw syntaxError(found, `expected ${expected}, but found ${this.#word(found)}`);
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
    if (!isOperatorLike(token)) {
      const isSign = token.kind === "unreadable" && token.text.startsWith("=");
      if (isSign) throw syntaxError(token, `${token.text} is not an operator. Write eq or ==`);
      return undefined;
    }
    if (OPERATORS.logical.has(token.text)) return undefined;
    if (this.#accept("name", "strict")) {
      if (this.#accept("name", "wildcard")) return "strict wildcard";
      throw syntaxError(token, '"strict" works only with "wildcard". Write strict wildcard "…"');
    }
    const operator = OPERATORS.comparison.get(token.text);
    if (operator !== undefined) {
      this.#next += 1;
      return operator;
    }
    if (token.kind !== "name") return undefined;
    const isCondition = FIELDS.has(token.text) || token.text === "not";
    throw syntaxError(
      token,
      isCondition
        ? `${token.text} follows a complete condition. ${JOIN}`
        : `${token.text} is not an operator. ${suggestOperator(token.text)}`,
    );
  }

  #value(): Value {
    const token = this.#advance();
    const { text: name, at } = token;
    if (token.kind !== "name" || RESERVED.has(name)) throw syntaxError(token, this.#missingField(token));
    if (!this.#is("open", "(")) return { kind: "field", name, indexes: this.#indexes(), at };
    const opened = this.#advance();
    const args = this.#nest(opened, () => this.#arguments(opened));
    return { kind: "call", name, args, indexes: this.#indexes(), at };
  }

  #missingField(token: Token): string {
    if (token.problem !== undefined) return token.problem;
    if (token.kind === "end") {
      return this.expression.trim() === "" ? "the expression is empty" : "a condition is missing at the end";
    }
    if (token.kind === "close") return `a condition is missing before ${token.text}`;
    if (token.text.startsWith("'")) return OTHER_QUOTES;
    const word = this.#word(token);
    if (token.kind === "string")
      return 'expected a field, but found a string. The field comes first: http.host eq "…"';
    return RESERVED.has(token.text)
      ? `a condition is missing before ${word}`
      : `expected a field, but found ${word}. Start with a field: http.host eq "…"`;
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
      const opened = this.#advance();
      const token = this.#advance();
      const value = token.kind === "number" ? Number(token.text) : Number.NaN;
      if (token.kind === "operator" && token.text === "*") indexes.push({ kind: "each" });
      else if (token.kind === "string") indexes.push({ kind: "key", bytes: this.#bytes(token, false) });
      else if (value >= 0) indexes.push({ kind: "number", value });
      else {
        throw syntaxError(
          token,
          token.problem ??
            'invalid index. Use a quoted key (headers["name"]), a number from 0 (names[0]) or * (names[*])',
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
        throw syntaxError(token, `${operator} takes one value. For several values, write: in {…}`);
      if (token.kind === "list")
        throw syntaxError(token, `${operator} takes one value. For a list, write: in ${token.text}`);
      return this.#literal(operator === "matches", operator);
    }
    if (token.kind === "list") return { kind: "list", name: this.#advance().text.slice(1), at };
    if (!this.#accept("open", "{")) {
      throw syntaxError(
        token,
        token.problem ??
          'the operator "in" needs a list (in $name) or a set (in {…}). Separate the values of a set with spaces',
      );
    }
    const items: (Literal | Range)[] = [];
    while (!this.#is("close", "}")) {
      if (this.#token.kind === "end" || this.#token.kind === "close") break;
      if (this.#is("operator", ","))
        throw syntaxError(this.#token, "sets don't use commas. Separate the values with spaces");
      items.push(this.#item());
    }
    if (items.length === 0) throw syntaxError(token, "the set is empty. Add at least one value");
    this.#close(token, "}");
    return { kind: "set", items, at };
  }

  #item(): Literal | Range {
    const from = this.#literal(false, "in");
    if (!this.#accept("operator", "..")) return from;
    const to = this.#literal(false, "in");
    const isPair = from.type === to.type && (from.type === "Number" || from.type === "IP");
    if (!isPair)
      throw new ExpressionSyntaxError({
        at: from.at,
        reason: "a range needs two numbers or two IP addresses",
      });
    if (from.type === "Number" && BigInt(from.value) > BigInt(to.value)) {
      throw new ExpressionSyntaxError({
        at: from.at,
        reason: `the range is reversed. Write ${to.value}..${from.value}`,
      });
    }
    return { kind: "range", from, to, at: from.at };
  }

  #literal(isRegex: boolean, operator?: Comparison): Literal {
    const token = this.#advance();
    const { text, at } = token;
    if (token.kind === "string")
      return { kind: "literal", type: "String", value: this.#bytes(token, isRegex), at };
    if (token.kind === "number") {
      return { kind: "literal", type: "Number", value: decimal(text), at };
    }
    if (token.kind === "address") return ipLiteral(token);
    if (token.kind === "name" && operator !== undefined && /^(?:true|false)$/.test(text)) {
      return { kind: "literal", type: "Boolean", value: text, at };
    }
    throw syntaxError(token, this.#missingValue(token, operator));
  }

  #missingValue(token: Token, operator: Comparison | undefined): string {
    if (token.problem !== undefined) return token.problem;
    if (/^['‘“”„«]/u.test(token.text)) return OTHER_QUOTES;
    if (
      token.kind === "end" ||
      token.kind === "close" ||
      OPERATORS.logical.has(token.text) ||
      token.kind === "operator"
    ) {
      return `a value is missing after ${operator ?? "the operator"}`;
    }
    const word = this.#word(token);
    if (token.kind === "open") return `expected a string, a number or an IP address, but found ${word}`;
    if (token.kind === "name" && this.#is("open", "(")) {
      return `${token.text}(…) works only to the left of an operator. Compare with a string, a number or an IP address`;
    }
    return `${word} needs quotes. Write "${word}"`;
  }

  #bytes(token: Token, isRegex: boolean): string {
    const wrong = isRegex ? undefined : invalidEscapeIndex(token.text);
    if (wrong !== undefined) {
      const reason = 'invalid escape sequence. Write \\\\ for a backslash, or use a raw string: r"…"';
      throw new ExpressionSyntaxError({ at: token.at + wrong, reason });
    }
    return stringBytes(token.text, isRegex);
  }
}

const JOIN = 'Join conditions with "and", "or" or "xor"';
const OTHER_QUOTES = 'strings need straight double quotes. Write "…"';

function syntaxError({ at }: Token, reason: string): ExpressionSyntaxError {
  return new ExpressionSyntaxError({ at, reason });
}

/** Whether a token could be an operator, which is a word or a symbol. */
function isOperatorLike({ kind }: Token): boolean {
  return kind === "name" || kind === "operator";
}

function suggestOperator(text: string): string {
  if (FUNCTIONS.has(text)) return `It's a function: write ${text}(field, "…")`;
  const lower = text.toLowerCase();
  const known = [...OPERATORS.comparison.keys(), ...OPERATORS.logical.keys()].filter((word) =>
    /^[a-z]/.test(word),
  );
  if (known.includes(lower)) return `Operators are lowercase: write ${lower}`;
  const suggestion = SYNONYMS[lower] ?? nearest(lower, known);
  return suggestion === undefined
    ? `Use one of: ${Object.keys(COMPARISONS).join(", ")}`
    : `Did you mean ${JSON.stringify(suggestion)}?`;
}

/** Cloudflare's operators, by their names in other languages. */
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

function ipLiteral({ text, at }: Token): Literal {
  const [address = "", length, ...more] = text.split("/");
  const version = isIP(address);
  if (version === 0) {
    if (/^[0-9a-f]{2}(?::[0-9a-f]{2})+$/i.test(text)) {
      const value = Buffer.from(text.replaceAll(":", ""), "hex").toString("latin1");
      return { kind: "literal", type: "String", value, at };
    }
    throw new ExpressionSyntaxError({ at, reason: `${text} is not an IP address` });
  }
  const most = version === 4 ? 32 : 128;
  if (more.length > 0 || Number(length ?? 0) > most) {
    throw new ExpressionSyntaxError({
      at,
      reason: `${text} is not a valid range of IP addresses. The prefix length must be at most ${most}`,
    });
  }
  return { kind: "literal", type: "IP", value: text.toLowerCase(), at };
}
