const SHORTEST_SECRET = 4; // Shorter strings are so common that hiding them would garble the text.

/**
 * Parts of a secret that are at least this long are hidden as well, because a text may be truncated or quote only a
 * part.
 */
const PIECE_CHARACTERS = 8;

/** Replaces secrets in any text that people read: errors, messages and debug lines. */
export class Redactor {
  readonly #wholes = new Set<string>();
  readonly #pieces = new Set<string>();
  #later: ((redactor: Redactor) => void) | undefined;

  /**
   * @param later adds secrets when the first text is redacted. Most calls never need them, because they print nothing.
   */
  constructor(later?: (redactor: Redactor) => void) {
    this.#later = later;
  }

  /** Hides `secret` and its parts from now on, including in URL-encoded or JSON-escaped form. */
  add(...secrets: readonly (string | undefined)[]): void {
    this.addWhole(...secrets);
    for (const secret of secrets) {
      if (secret === undefined || secret.length < PIECE_CHARACTERS) continue;
      for (const form of formsOf(secret)) this.#pieces.add(form);
    }
  }

  /** Hides a text only as a whole, because its parts, such as everyday words, aren't secret. */
  addWhole(...secrets: readonly (string | undefined)[]): void {
    for (const secret of secrets) {
      if (secret !== undefined && secret.length >= SHORTEST_SECRET) this.#wholes.add(secret);
    }
  }

  redact(given: string): string {
    const later = this.#later;
    this.#later = undefined;
    later?.(this);
    const text = asciiLowerCase(given);
    const hidden = new Uint8Array(text.length);
    for (const secret of this.#wholes) {
      if (secret.length > text.length) continue;
      for (const form of formsOf(secret)) {
        for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1))
          hidden.fill(1, at, at + form.length);
      }
    }
    if (this.#pieces.size > 0) this.#hidePieces(text, hidden);
    return withoutHidden(given, hidden);
  }

  /** Makes one pass over the text and one over the secrets, because either may be long. */
  #hidePieces(text: string, hidden: Uint8Array): void {
    const inText = new Set<string>();
    for (let at = 0; at + PIECE_CHARACTERS <= text.length; at += 1)
      inText.add(text.slice(at, at + PIECE_CHARACTERS));
    const found = new Set<string>();
    for (const secret of this.#pieces) {
      for (let at = 0; at + PIECE_CHARACTERS <= secret.length; at += 1) {
        const piece = secret.slice(at, at + PIECE_CHARACTERS);
        if (inText.has(piece)) found.add(piece);
      }
    }
    if (found.size === 0) return;
    for (let at = 0; at + PIECE_CHARACTERS <= text.length; at += 1) {
      if (found.has(text.slice(at, at + PIECE_CHARACTERS))) hidden.fill(1, at, at + PIECE_CHARACTERS);
    }
  }
}

function formsOf(secret: string): ReadonlySet<string> {
  const wellFormed = secret.replace(/\p{Surrogate}/gu, "\ufffd"); // Half of a surrogate pair can't be encoded.
  const forms = [secret, encodeURIComponent(wellFormed), JSON.stringify(secret).slice(1, -1)];
  return new Set(forms.map(asciiLowerCase));
}

/**
 * Lowercases text, because an ID, a name or `%2F` may come back in a different case. Converts only ASCII, because the
 * length of other letters may change.
 */
function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Replaces the hidden parts. Keeps whitespace around a secret, because it belongs to the sentence. */
function withoutHidden(text: string, hidden: Uint8Array): string {
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    let end = start + 1;
    while (end < text.length && hidden[end] === hidden[start]) end += 1;
    const part = text.slice(start, end);
    const [before, after] = [part.length - part.trimStart().length, part.trimEnd().length];
    parts.push(hidden[start] === 1 ? `${part.slice(0, before)}[secret]${part.slice(after)}` : part);
    start = end;
  }
  return parts.join("");
}
