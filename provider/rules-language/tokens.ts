/** The kinds of tokens in an expression. */

export type TokenKind =
  | "name"
  | "string"
  | "number"
  | "address"
  | "list"
  | "operator"
  | "open"
  | "close"
  | "end"
  /** Text that isn't part of the language. `problem` may say why. */
  | "unreadable";

export interface Token {
  readonly kind: TokenKind;
  /** The token as written. */
  readonly text: string;
  /** The index of the token's first character. */
  readonly at: number;
  readonly problem?: string;
}

const SPACE = /[ \t\r\n]+/y;

/**
 * The pattern for each kind of token. The order matters: an address may start like a name, and a number like an
 * address.
 */
const PATTERNS: readonly (readonly [TokenKind, RegExp])[] = [
  ["list", /\$[a-z0-9_.]+/y],
  ["address", /[0-9a-fA-F]*:(?:[0-9a-fA-F:]|\.(?!\.))*(?:\/\d+)?/y],
  ["address", /\d+\.\d+\.\d+\.\d+(?:\/\d+)?(?![\w.-]*[A-Za-z])/y],
  ["number", /(?:0x[0-9a-fA-F]+|-?\d+)(?![\w-]|\.(?!\.))/y],
  ["name", /[A-Za-z_]\w*(?:\.\w+)*/y],
  ["operator", /==|!=|<=|>=|&&|\|\||\^\^|\.\.|[<>~!&*,]/y],
  ["open", /[({[]/y],
  ["close", /[)}\]]/y],
];

/** Splits an expression into tokens. The last one is the end, or the first text that can't be read. */
export function tokensOf(expression: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at += matchAt(SPACE, expression, at)?.length ?? 0;
    const token = tokenAt(expression, at);
    tokens.push(token);
    if (token.kind === "end" || token.kind === "unreadable") return tokens;
    at += token.text.length;
  }
}

function tokenAt(expression: string, at: number): Token {
  if (at >= expression.length) return { kind: "end", text: "", at };
  const raw = matchAt(/r(#*)"/y, expression, at);
  if (raw !== undefined) return rawString(expression, at, raw.length - 2);
  if (expression[at] === '"') return quotedString(expression, at);
  for (const [kind, pattern] of PATTERNS) {
    const text = matchAt(pattern, expression, at);
    if (text !== undefined) return { kind, text, at };
  }
  return { kind: "unreadable", text: wordAt(expression, at), at };
}

function quotedString(expression: string, at: number): Token {
  let end = at + 1;
  while (end < expression.length && expression[end] !== '"') end += expression[end] === "\\" ? 2 : 1;
  if (end >= expression.length) return unterminated(at, 'Add the closing "');
  return { kind: "string", text: expression.slice(at, end + 1), at };
}

function rawString(expression: string, at: number, hashes: number): Token {
  const closing = `"${"#".repeat(hashes)}`;
  const end = expression.indexOf(closing, at + hashes + 2);
  if (end === -1) return unterminated(at, `Add the closing ${closing}`);
  return { kind: "string", text: expression.slice(at, end + closing.length), at };
}

function unterminated(at: number, advice: string): Token {
  return {
    kind: "unreadable",
    text: "",
    at,
    problem: `the string that starts here is never closed. ${advice}`,
  };
}

/** Returns the text up to the next space, bracket or quote, for messages. */
export function wordAt(expression: string, at: number): string {
  return matchAt(/[^\s(){}"]+/y, expression, at) ?? expression.charAt(at);
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|([0-3][0-7]{2})|(["\\]))/g;

/**
 * Returns the bytes of a string token, one character per byte. In a quoted regular expression, only `\"` is
 * unescaped; other escapes belong to the regular expression. A raw string has no escapes.
 */
export function stringBytes(text: string, isRegex: boolean): string {
  const opening = /^(?:r#*)?"/.exec(text)?.[0] ?? "";
  const body = text.slice(opening.length, text.length - Math.max(1, opening.length - 1));
  if (opening !== '"') return utf8(body);
  if (isRegex) return utf8(body.replace(/\\([^])/g, (both, sign: string) => (sign === '"' ? sign : both)));
  let bytes = "";
  let at = 0;
  for (const { index, 0: escape, 1: hex, 2: octal, 3: sign } of body.matchAll(ESCAPE)) {
    bytes += utf8(body.slice(at, index));
    bytes += sign ?? String.fromCharCode(hex === undefined ? parseInt(octal ?? "0", 8) : parseInt(hex, 16));
    at = index + escape.length;
  }
  return bytes + utf8(body.slice(at));
}

/** Returns the index of the first backslash in a quoted string that doesn't start a valid escape. */
export function invalidEscapeIndex(text: string): number | undefined {
  const found = /\\(?!x[0-9a-fA-F]{2}|[0-3][0-7]{2}|["\\])/.exec(text.replace(/\\["\\]/g, "__"));
  return text.startsWith('"') ? found?.index : undefined;
}

function utf8(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
