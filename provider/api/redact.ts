import { parseJson } from "../basics/json";
import { decoded } from "../basics/url";

const SHORTEST_SECRET = 4; // Shorter strings are so common that hiding them would garble the text.

/** Replaces secrets in any text that people read: errors, messages and debug lines. */
export class Redactor {
  readonly #secrets = new Set<string>();
  #later: ((redactor: Redactor) => void) | undefined;

  /**
   * @param later adds secrets when the first text is redacted. Most calls never need them, because they print nothing.
   */
  constructor(later?: (redactor: Redactor) => void) {
    this.#later = later;
  }

  /** Hides each text as a whole from now on, including in encoded form. */
  add(...secrets: readonly (string | undefined)[]): void {
    for (const secret of secrets)
      if (secret !== undefined && secret.length >= SHORTEST_SECRET) this.#secrets.add(secret);
  }

  /** Hides every string in a value, and the credentials inside each. */
  addValue(value: unknown): void {
    for (const text of stringsIn(value)) {
      if (this.#secrets.has(text)) continue;
      this.add(text);
      this.addValue(credentialsIn(text));
    }
  }

  /** Hides every string in a value that may contain anything, except everyday words. */
  addStrings(value: unknown): void {
    for (const text of stringsIn(value)) if (!EVERYDAY_WORD.test(text)) this.addValue(text);
  }

  /** Replaces whole secrets. Text must be redacted before it's shortened, because a part of a secret isn't found. */
  redact(given: string): string {
    const text = asciiLowerCase(given);
    const hidden = new Uint8Array(text.length);
    for (const form of this.#forms(text.length)) {
      for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1))
        hidden.fill(1, at, at + form.length);
    }
    return withoutHidden(given, hidden);
  }

  *#forms(longest: number): Generator<string> {
    const later = this.#later;
    this.#later = undefined;
    later?.(this);
    for (const secret of this.#secrets)
      if (secret.length <= longest) for (const form of formsOf(secret)) yield asciiLowerCase(form);
  }
}

/** Longer secrets are documents, which nothing encodes to send them on. */
const LONGEST_ENCODED = 4096;

/** Returns a secret as it is, and as URLs, forms, JSON and Base64 write it. */
function formsOf(secret: string): ReadonlySet<string> {
  if (secret.length > LONGEST_ENCODED) return new Set([secret, JSON.stringify(secret).slice(1, -1)]);
  const wellFormed = secret.replace(/\p{Surrogate}/gu, "\ufffd"); // Half of a surrogate pair can't be encoded.
  const base64 = Buffer.from(secret).toString("base64").replace(/=+$/, "");
  return new Set([
    secret,
    encodeURIComponent(wellFormed),
    new URLSearchParams([["", wellFormed]]).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
    base64,
    base64.replaceAll("+", "-").replaceAll("/", "_"),
  ]);
}

/** Finds the credentials inside a value: the members of JSON, the parts of a URL, and what a scheme precedes. */
function credentialsIn(text: string): readonly string[] {
  const [, credentials] = /^(?:[\w-]+: *)?(?:basic|bearer|token) +(\S+)$/i.exec(text) ?? [];
  if (credentials !== undefined) return [credentials];
  if (/^\s*[{[]/.test(text))
    return [...stringsIn(parseJson(text))].filter((member) => !EVERYDAY_WORD.test(member));
  if (!/^[a-z][a-z\d+.-]*:\/\/\S+$/i.test(text) || !URL.canParse(text)) return [];
  const { username, password, searchParams } = new URL(text);
  const members = [...searchParams.values()].filter(({ length }) => length >= SHORTEST_MEMBER);
  return [username, password, ...members].flatMap((part) => [part, decoded(part)]);
}

/** Shorter members of a query, such as `index=main`, are options rather than credentials. */
const SHORTEST_MEMBER = 8;

/** Words such as "true" or "keys" aren't hidden, because that would garble every sentence. */
export const EVERYDAY_WORD = /^[a-z]{1,7}$/i;

/** Shorter numbers are too common to hide. */
const LONG_NUMBER_DIGITS = 6;

/** Yields every string and long number in a value, at any depth. */
export function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "number" && String(value).length >= LONG_NUMBER_DIGITS) yield String(value);
  else if (typeof value === "object" && value !== null)
    for (const member of Object.values(value)) yield* stringsIn(member);
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
