/**
 * Parses a URL. Undefined if it isn't one. Not with `URL.canParse`: in Node.js 20, it refuses URLs with letters such as ü
 * once it has been called often.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
