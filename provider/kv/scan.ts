/** The file is not an array of objects, or not whole. Where and why, only a slower reader tells. */
export class NotPlainError extends Error {
  override readonly name = "NotPlainError";
}

/** Between the entries, and within one. */
type Expects = "array" | "firstEntry" | "entry" | "comma" | "nothing" | "endOfEntry";

/** After so many bytes of a string the rest is searched for its end instead of looked at byte by byte. */
const SHORT_STRING_BYTES = 128;

/**
 * Finds the entries of a bulk file in bytes that come piece by piece: looks at brackets and strings only, so that each
 * entry can be parsed for itself, or sent as it stands. What is wrong within an entry is for its parser to find.
 */
export class EntryScanner {
  #expects: Expects = "array";
  #line = 1;
  #entryStart = 0;
  #entryLine = 1;
  #depth = 0;
  #members = 0;
  #inString = false;

  /** Whether the array has been closed. */
  get isComplete(): boolean {
    return this.#expects === "nothing";
  }

  /** Where the entry begins that is not complete yet; undefined between entries. In bytes of the last piece. */
  get pending(): number | undefined {
    return this.#expects === "endOfEntry" ? this.#entryStart : undefined;
  }

  /** What comes next has this many bytes less before it. */
  shift(bytes: number): void {
    this.#entryStart -= bytes;
  }

  /**
   * Goes on at `from`, and calls `found` for each entry that is complete.
   *
   * @returns where to go on when there are more bytes.
   * @throws NotPlainError
   */
  scan(
    bytes: Buffer,
    from: number,
    found: (start: number, end: number, line: number, members: number) => void,
  ): number {
    let at = from;
    while (at < bytes.length) {
      if (this.#expects !== "endOfEntry") {
        this.#between(bytes[at] ?? 0, at);
        at += 1;
        continue;
      }
      at = this.#within(bytes, at);
      if (this.#depth > 0) break;
      found(this.#entryStart, at, this.#entryLine, this.#members);
      this.#expects = "comma";
    }
    return at;
  }

  #between(byte: number, at: number): void {
    if (byte === SPACE || byte === TAB || byte === RETURN) return;
    if (byte === NEWLINE) {
      this.#line += 1;
      return;
    }
    const expects = this.#expects;
    if (byte === OPEN_BRACE && (expects === "firstEntry" || expects === "entry")) {
      this.#expects = "endOfEntry";
      this.#entryStart = at;
      this.#entryLine = this.#line;
      this.#depth = 1;
      this.#members = 0;
    } else if (byte === OPEN_BRACKET && expects === "array") this.#expects = "firstEntry";
    else if (byte === COMMA && expects === "comma") this.#expects = "entry";
    else if (byte === CLOSE_BRACKET && (expects === "comma" || expects === "firstEntry"))
      this.#expects = "nothing";
    else throw new NotPlainError();
  }

  /** To behind the entry's last bracket, or as far as the bytes go. */
  #within(bytes: Buffer, from: number): number {
    const end = bytes.length;
    let at = this.#inString ? this.#throughString(bytes, from) : from;
    while (at < end && !this.#inString) {
      switch (bytes[at]) {
        case QUOTE:
          this.#inString = true;
          at = this.#throughString(bytes, at + 1);
          continue;
        case COLON:
          this.#members += 1;
          break;
        case NEWLINE:
          this.#line += 1;
          break;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          this.#depth += 1;
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          this.#depth -= 1;
          if (this.#depth === 0) return at + 1;
          break;
        default:
      }
      at += 1;
    }
    return at;
  }

  /** To behind the string's closing quote, or as far as the bytes go: never into the middle of an escape. */
  #throughString(bytes: Buffer, from: number): number {
    const end = bytes.length;
    const short = Math.min(end, from + SHORT_STRING_BYTES);
    let at = from;
    while (at < short) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        this.#inString = false;
        return at + 1;
      }
      if (byte !== BACKSLASH) at += 1;
      else if (at + 1 === end) return at;
      else at += 2;
    }
    for (;;) {
      const quote = bytes.indexOf(QUOTE, at);
      const until = quote === -1 ? end : quote;
      let escapes = 0;
      while (until - escapes > at && bytes[until - escapes - 1] === BACKSLASH) escapes += 1;
      const isEscaped = escapes % 2 === 1;
      if (quote === -1) return isEscaped ? end - 1 : end;
      at = quote + 1;
      if (isEscaped) continue;
      this.#inString = false;
      return at;
    }
  }
}

const [TAB, NEWLINE, RETURN, SPACE] = [9, 10, 13, 32];
const [QUOTE, COMMA, COLON, BACKSLASH] = [34, 44, 58, 92];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [91, 93, 123, 125];
