import { coversAddress, NETWORK_SCHEMES, parseAddress, type Address } from "./csp";

/** A source with its address, parsed once because it's compared with many others. */
interface Source {
  readonly text: string;
  readonly address: Address | undefined;
}

function parsed(text: string): Source {
  return { text, address: text.startsWith("'") ? undefined : parseAddress(text) };
}

/** Finds whether one of many sources allows everything that another source allows. */
export class SourceIndex {
  readonly #texts: ReadonlySet<string>;
  /** Keywords, schemes and `*`, which may cover any host. */
  readonly #broad: Source[] = [];
  /** The other sources by host. A source for one file has the key `<host><path>`. */
  readonly #byHost = new Map<string, Source[]>();
  /** Whether any host begins with `*.`. */
  #hasWildcard = false;

  constructor(sources: Iterable<string>) {
    this.#texts = new Set(sources);
    for (const source of [...this.#texts].map(parsed)) {
      const { host = "*", path = "" } = source.address ?? {};
      const key = path === "" || path.endsWith("/") ? host : host + path;
      const group = host === "*" ? this.#broad : (this.#byHost.get(key) ?? []);
      group.push(source);
      this.#hasWildcard ||= host.startsWith("*.");
      if (host !== "*") this.#byHost.set(key, group);
    }
  }

  covers(text: string): boolean {
    if (this.#texts.has(text)) return true;
    const source = parsed(text);
    const { host = "", path = "" } = source.address ?? {};
    const isCovered = (sources: readonly Source[] = []): boolean =>
      sources.some((wide) => covers(wide, source));
    const isCoveredAt = (key: string): boolean =>
      isCovered(this.#byHost.get(key)) || (path !== "" && isCovered(this.#byHost.get(key + path)));
    if (isCovered(this.#broad) || isCoveredAt(host)) return true;
    if (!this.#hasWildcard) return false;
    for (let dot = host.indexOf("."); dot !== -1; dot = host.indexOf(".", dot + 1))
      if (isCoveredAt(`*${host.slice(dot)}`)) return true;
    return false;
  }
}

/** Whether `wide` allows everything that `narrow` allows. */
function covers({ text: wide, address: a }: Source, { text: narrow, address: b }: Source): boolean {
  if (wide === "'unsafe-eval'") return narrow === "'wasm-unsafe-eval'";
  // `*` allows every network address on every port, including the page's own.
  if (wide === "*") return narrow === "'self'" || isNetworkAddress(b);
  return a !== undefined && b !== undefined && coversAddress(a, b);
}

function isNetworkAddress(address: Address | undefined): boolean {
  return address !== undefined && (address.scheme === undefined || NETWORK_SCHEMES.includes(address.scheme));
}
