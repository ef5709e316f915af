/**
 * Parses a URL. Undefined if the text isn't a URL. Doesn't use `URL.canParse`, which in Node.js 20 rejects URLs with
 * letters such as ü once it has been called often.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Decodes a part of a URL. Returns it unchanged if it has a stray percent sign. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
