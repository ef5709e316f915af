import type { Script } from "../page-shield/records";
import { matchesPattern } from "../basics/words";
import { UsageError } from "../terminal/errors";
import type { Cell } from "./model";
import { isReadable, valueOf } from "./readable";

type SeenScript = Pick<Script, "url" | "host" | "firstPageUrl">;

/**
 * Decides which pages take payments: those that match --payment-pages, where `*` stands for any characters. Without the
 * option, all pages on hosts that load a script in the inventory.
 */
export class PaymentPages {
  readonly #patterns: readonly string[];
  readonly #isListed: ((url: string) => boolean) | undefined;

  /**
   * @param patterns hosts such as `checkout.*`, or hosts and paths such as `shop.example/payment*`, with or without a
   * scheme.
   * @param isListed whether the inventory has an entry for a script.
   * @throws UsageError for a pattern without a host.
   */
  constructor(patterns: readonly string[], isListed?: (url: string) => boolean) {
    this.#isListed = isListed;
    this.#patterns = patterns.map(withoutScheme);
    const empty = this.#patterns.findIndex((pattern) => /^(\/|$)/.test(pattern));
    if (empty !== -1)
      throw new UsageError(
        `--payment-pages ${JSON.stringify(patterns[empty])} has no host. Pass a host (checkout.*) or a host and path (shop.example/payment*).`,
      );
  }

  /**
   * Whether a zone has payment pages.
   *
   * @param hosts the zone's hosts that are known even if its scripts can't be read.
   */
  inZone(scripts: Cell<readonly SeenScript[]>, hosts: readonly string[]): Cell<boolean> {
    const seen = isReadable(scripts) ? scripts.map(({ host }) => host) : [];
    if ([...hosts, ...seen].some((host) => this.#names(host))) return true;
    if (isReadable(scripts)) return scripts.some(this.among(scripts));
    return this.#patterns.length > 0 || this.#isListed !== undefined ? scripts : false;
  }

  /**
   * Returns a function that decides whether one of a zone's scripts was seen on a payment page. Only the first page of
   * each script is known.
   */
  among(scripts: Cell<readonly SeenScript[]>): (script: SeenScript) => boolean {
    if (this.#patterns.length > 0) return (script) => this.#hasScript(script);
    const listed = (valueOf(scripts) ?? []).filter(({ url }) => this.#isListed?.(url) === true);
    const hosts = new Set(listed.map(({ host }) => host));
    return ({ host }) => hosts.has(host);
  }

  /**
   * Whether a pattern contains the host. The pattern's path is ignored, because a payment page's scripts are often
   * first seen on another page. Patterns with a path on any host (`*`) don't count.
   */
  #names(host: string): boolean {
    return this.#patterns.some((pattern) => {
      const named = pattern.replace(/\/.*$/s, "");
      return (named === pattern || /[^*]/.test(named)) && matchesPattern(host, named);
    });
  }

  #hasScript({ host, firstPageUrl }: SeenScript): boolean {
    const page = withoutScheme(firstPageUrl ?? host);
    return this.#patterns.some((pattern) => matchesPattern(pattern.includes("/") ? page : host, pattern));
  }
}

/** Removes the scheme of a URL or pattern, such as `https://` or `*://`. */
function withoutScheme(address: string): string {
  return address.replace(/^[^/]*:\/\//, "");
}
