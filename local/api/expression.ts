/**
 * Returns what's wrong with a filter expression, in the format of Cloudflare's parser. Undefined if it could be valid.
 * Checks the grammar, not the types: every name in one of Cloudflare's namespaces counts as a field, and every function
 * is accepted.
 */
export function complaint(expression: string): string | undefined {
  try {
    new Reader(expression).whole();
    return undefined;
  } catch (error) {
    if (error instanceof ParseError) return error.message;
    throw error;
  }
}

class ParseError extends Error {
  constructor(expression: string, at: number, why: string) {
    const before = expression.slice(0, at).split("\n");
    super(`Filter parsing error (${before.length}:${(before.at(-1) ?? "").length + 1}): ${why}`);
  }
}

/** Patterns for tokens, each matched at the reader's position. */
const SPACE = /[ \t\r\n]*/y;
const WORD = /[A-Za-z_]\w*(?:\.\w+)*/y;
const STRING = /"(?:\\[^]|[^"\\])*"/y;
const RAW_STRING_START = /r(#*)"/y;
const ADDRESS = /(?:[0-9a-fA-F]*:(?:[0-9a-fA-F:]|\.(?!\.))*|\d+(?:\.\d+){3})(?:\/\d+)?/y;
const NUMBER = /0x[0-9a-fA-F]+|-?\d+/y;
const LIST = /\$[a-z0-9_]+(?:\.[a-z0-9_]+)*/y;
const JOINING = /(?:and|or|xor)\b|&&|\|\||\^\^/y;
const NOT = /not\b|!(?!=)/y;
const COMPARING =
  /(?:eq|ne|lt|le|gt|ge|contains|matches|wildcard|bitwise_and|strict +wildcard)\b|==|!=|<=|>=|[<>~]|&(?!&)/y;
const FIELD = /^(?:(?:cf|http|ip|raw|tcp|udp|icmp)\.|ssl$)/;
const KEYWORD = /^(?:and|or|xor|not|in|eq|ne|lt|le|gt|ge|contains|matches|wildcard|strict|bitwise_and)$/;

/** The nesting depth that Cloudflare's parser allows. */
const MAX_NESTING = 128;

/**
 * Parses an expression from left to right. Ignores operator precedence, which doesn't affect whether an expression is
 * valid.
 */
class Reader {
  #at = 0;
  #depth = 0;

  constructor(readonly expression: string) {}

  whole(): void {
    this.#conditions();
    if (this.#at < this.expression.length) this.#fail("unrecognized input");
  }

  /** Consumes a match at the current position, with the space after it. Undefined if there's no match. */
  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.expression)?.[0];
    if (found !== undefined) this.#at += found.length;
    if (found !== undefined && pattern !== SPACE) this.#take(SPACE);
    return found;
  }

  #sign(sign: string): boolean {
    if (!this.expression.startsWith(sign, this.#at)) return false;
    this.#at += sign.length;
    this.#take(SPACE);
    return true;
  }

  #expect(sign: string): void {
    if (!this.#sign(sign)) this.#fail(`expected literal ${JSON.stringify(sign)}`);
  }

  #fail(why: string, at = this.#at): never {
    throw new ParseError(this.expression, at, why);
  }

  #nested(read: () => void): void {
    this.#depth += 1;
    if (this.#depth > MAX_NESTING) this.#fail(`maximum nesting depth exceeded (limit: ${MAX_NESTING})`);
    read();
    this.#depth -= 1;
  }

  #conditions(): void {
    this.#take(SPACE);
    do this.#condition();
    while (this.#take(JOINING) !== undefined);
  }

  #condition(): void {
    if (this.#take(NOT) !== undefined) this.#nested(() => this.#condition());
    else if (this.#sign("(")) {
      this.#nested(() => this.#conditions());
      this.#expect(")");
    } else if (this.#value()) this.#comparison();
  }

  /** Reads a value. Returns whether a comparison may follow. */
  #value(): boolean {
    const at = this.#at;
    const name = this.#take(WORD);
    if (name === undefined || KEYWORD.test(name)) return this.#fail("expected identifier", at);
    if (name === "true" || name === "false") return false;
    if (this.#sign("(")) this.#nested(() => this.#arguments());
    else if (!FIELD.test(name)) this.#fail(`unknown identifier ${name}`, at);
    while (this.#sign("[")) {
      const isIndex = this.#sign("*") || this.#take(/\d+/y) !== undefined || this.#text();
      if (!isIndex) this.#fail("expected quoted utf8 string or positive integer");
      this.#expect("]");
    }
    return true;
  }

  #arguments(): void {
    if (this.#sign(")")) return;
    do {
      if (!this.#literal()) this.#conditions();
    } while (this.#sign(","));
    this.#expect(")");
  }

  #comparison(): void {
    if (this.#take(/in\b/y) !== undefined) {
      if (this.#take(LIST) !== undefined) return;
      this.#expect("{");
      do this.#member();
      while (!this.#sign("}"));
    } else if (this.#take(COMPARING) !== undefined && !this.#literal()) {
      this.#fail("expected a literal: text is quoted");
    }
  }

  #member(): void {
    if (!this.#literal() || (this.#sign("..") && !this.#literal()))
      this.#fail("expected a literal: text is quoted");
  }

  #literal(): boolean {
    if (this.#text()) return true;
    const at = this.#at;
    const found = this.#take(ADDRESS) ?? this.#take(NUMBER);
    // A number followed by a letter is unquoted text.
    if (found !== undefined && /[\w-]/.test(this.expression.charAt(at + found.length))) this.#at = at;
    return this.#at > at;
  }

  #text(): boolean {
    const at = this.#at;
    RAW_STRING_START.lastIndex = at;
    const hashes = RAW_STRING_START.exec(this.expression)?.[1];
    if (hashes === undefined) {
      if (this.#take(STRING) !== undefined) return true;
      return this.expression.charAt(at) === '"' ? this.#fail("could not find an ending quote") : false;
    }
    const end = this.expression.indexOf(`"${hashes}`, at + hashes.length + 2);
    if (end === -1) this.#fail("could not find an ending quote");
    this.#at = end + 1 + hashes.length;
    this.#take(SPACE);
    return true;
  }
}
