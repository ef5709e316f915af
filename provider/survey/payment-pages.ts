import type { Script } from "../page-shield/records";

/** Finds the pages that take payments, by the patterns in --payment-pages. `*` matches any characters. */
export class PaymentPages {
  /** @param patterns a host such as `checkout.*`, or a host and path such as `shop.example/payment*`. */
  constructor(readonly patterns: readonly string[]) {}

  hasHost(host: string): boolean {
    return this.patterns.some((pattern) => !pattern.includes("/") && matches(host, pattern));
  }

  /** Whether the script was seen on a payment page. Cloudflare's list contains only the first page of each script. */
  hasScript({ host, firstPageUrl }: Pick<Script, "host" | "firstPageUrl">): boolean {
    const page = (firstPageUrl ?? host).replace(/^[a-z]+:\/\//, "");
    return this.hasHost(host) || this.patterns.some((each) => each.includes("/") && matches(page, each));
  }
}

/** Matches without a regular expression, which would be slow for a pattern with many stars. */
function matches(given: string, pattern: string): boolean {
  const text = given.toLowerCase();
  const [first = "", ...parts] = pattern.toLowerCase().split("*");
  const last = parts.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= end;
}
