import { parseUrl } from "../../basics/url";
import type * as PublicSuffixes from "tldts";

/**
 * Decides which scripts an inventory entry covers. Compares parsed URLs, so that spelling doesn't matter and lookalike
 * hosts don't match.
 */

/** A script's URL in canonical form. */
export interface ScriptUrl {
  /** The URL without fragment and username. Equal URLs have equal texts. */
  readonly text: string;
  /** The host. Undefined for a URL without a host of its own, such as `blob:` or `data:`. */
  readonly address: Address | undefined;
  /**
   * Whether the URL has a username. No entry covers such URLs, because they can be mistaken for another host's URLs.
   */
  readonly hasUser: boolean;
}

interface Address {
  readonly scheme: string;
  readonly hostname: string;
  /** The port; empty for the scheme's default port. */
  readonly port: string;
  readonly path: string;
}

/** An entry's `script`, parsed. */
export interface ScriptPattern {
  readonly kind: "url" | "folder" | "host";
  /** The canonical form. Two patterns that cover the same scripts have the same text. */
  readonly text: string;
  readonly address: Address | undefined;
  /** Whether the pattern covers the host's subdomains instead of the host. */
  readonly isWildcard: boolean;
}

/** Thrown if an entry's `script` is invalid. The message continues a sentence that starts with the property's path. */
export class PatternError extends Error {
  override readonly name = "PatternError";
}

/** Parses a URL that Page Shield has seen. Undefined if the text isn't a URL. */
export function parseScriptUrl(given: string): ScriptUrl | undefined {
  const url = parseUrl(given);
  if (url === undefined) return undefined;
  const hasUser = url.username !== "" || url.password !== "";
  url.hash = "";
  if (!isNetwork(url)) return { text: url.href, address: undefined, hasUser };
  const address = addressOf(url);
  return { text: textOf(address) + canonicalEscapes(url.search), address, hasUser };
}

/** Hides the username and password of a URL, which may be a credential. */
export function withoutUser(given: string): string {
  return given.replace(/^([a-z][a-z0-9+.-]*:[/\\]*)[^/\\?#]*@/i, "$1[secret]@");
}

function isNetwork({ protocol }: URL): boolean {
  return protocol === "https:" || protocol === "http:";
}

function addressOf(url: URL): Address {
  return {
    scheme: url.protocol.slice(0, -1),
    hostname: url.hostname.replace(/(?<=.)\.$/, ""), // DNS knows one host with and without a final dot.
    port: url.port,
    path: canonicalEscapes(url.pathname),
  };
}

function textOf({ scheme, hostname, port, path }: Address): string {
  return `${originOf(scheme, hostname, port)}${path}`;
}

function originOf(scheme: string, hostname: string, port: string): string {
  return `${scheme}://${hostname}${port === "" ? "" : `:${port}`}`;
}

/**
 * Decodes characters that never need escaping (RFC 3986, 6.2.2), and escapes `*`, which has a special meaning in an
 * entry.
 */
function canonicalEscapes(text: string): string {
  return text
    .replace(/%[0-9a-f]{2}/gi, (escape) => {
      const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
      return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
    })
    .replaceAll("*", "%2A");
}

const FORMS =
  "write an exact URL (https://cdn.example.com/app.js), a host (cdn.example.com or *.example.com), or a path with everything below it (https://cdn.example.com/lib/*)";

/**
 * @throws PatternError if the text isn't a URL, a host or a path ending in `/*`, or would cover unrelated parties'
 * scripts.
 */
export function parsePattern(given: string): ScriptPattern {
  const shown = JSON.stringify(withoutUser(given));
  const refuse = (reason: string): PatternError => new PatternError(`${shown} ${reason}`);
  if (given === "") throw refuse(`is empty: ${FORMS}`);
  if (/[\s\p{Cc}\\]/u.test(given)) throw refuse(`has a space, backslash or control character: ${FORMS}`);
  if (given === "*") throw refuse(`covers every script: ${FORMS}`);
  const scheme = /^([a-z][a-z0-9+-]*):(?!\d+$)/i.exec(given)?.[1]?.toLowerCase();
  if (scheme === undefined) return hostPattern(given, refuse);
  return scheme === "https" || scheme === "http"
    ? networkPattern(given, refuse)
    : opaquePattern(given, refuse);
}

type Refuse = (reason: string) => PatternError;

function hostPattern(given: string, refuse: Refuse): ScriptPattern {
  if (/[/?#@]/.test(given)) throw refuse("has no scheme: add https://, or write only the host");
  const { url, isWildcard } = parseHost(`https://${given}`, refuse);
  const address = addressOf(url);
  const { scheme, hostname, port } = address;
  const text = `${originOf(scheme, (isWildcard ? "*." : "") + hostname, port)}/*`;
  return { kind: "host", text, address, isWildcard };
}

function networkPattern(given: string, refuse: Refuse): ScriptPattern {
  if (given.includes("#"))
    throw refuse("has a fragment, which browsers don't send: remove the # and everything after it");
  if (/^\w+:\/\/[^/?]*@/.test(given)) throw refuse("has a username: remove the username and the @");
  if (/\/(\.|%2e){1,2}([/?]|$)/i.test(given)) throw refuse("has a . or .. segment: write the resolved path");
  const isFolder = given.endsWith("/*") && !given.includes("?");
  const { url, isWildcard } = parseHost(isFolder ? given.slice(0, -1) : given, refuse);
  const address = addressOf(url);
  const host = { ...address, hostname: (isWildcard ? "*." : "") + address.hostname };
  // A folder that is the whole host is the same as the host.
  const kind = !isFolder ? "url" : address.path === "/" && address.scheme === "https" ? "host" : "folder";
  const text = textOf(host) + (isFolder ? "*" : canonicalEscapes(url.search));
  return { kind, text, address, isWildcard };
}

/** Parses a URL without a host, such as `data:` or `blob:`, which is compared as a whole. */
function opaquePattern(given: string, refuse: Refuse): ScriptPattern {
  const url = parseUrl(given);
  if (url === undefined) throw refuse(`is not a URL: ${FORMS}`);
  if (given.includes("*"))
    throw refuse("has a *, which is allowed only in https:// and http:// URLs: write the exact URL");
  return { kind: "url", text: url.href, address: undefined, isWildcard: false };
}

/** Parses a URL whose host may start with `*.`. The returned URL doesn't have that prefix. */
function parseHost(given: string, refuse: Refuse): { readonly url: URL; readonly isWildcard: boolean } {
  const isWildcard = /^\w+:\/\/\*\./.test(given);
  const plain = isWildcard ? given.replace("*.", "") : given;
  const url = /^\w+:\/\/[^/?]/.test(plain) ? parseUrl(plain) : undefined;
  // Parsing turns %2A and the full-width star in a host into a star, which would then be a wildcard.
  if (plain.includes("*") || url?.hostname.includes("*") === true) {
    throw refuse(
      "has a * where it isn't allowed. Use *. at the start (subdomains) or /* at the end (everything below); for a literal * in a path, write %2A",
    );
  }
  if (url === undefined) throw refuse(`is not a URL or host: ${FORMS}`);
  const hostname = addressOf(url).hostname;
  const problem = hostProblem(hostname, isWildcard);
  if (problem !== undefined) throw refuse(problem);
  return { url, isWildcard };
}

/** Returns what's wrong with a host: it covers the scripts of unrelated parties, or isn't a full name. */
function hostProblem(hostname: string, isWildcard: boolean): string | undefined {
  const suffixes = publicSuffixes();
  const { isIp, publicSuffix, isIcann } = suffixes.parse(hostname, { allowPrivateDomains: true });
  if (isIp === true) return isWildcard ? "has *. before an IP address: remove the *." : undefined;
  if (hostname.split(".").includes("")) return "has an empty label in its host: write the full host";
  if (!hostname.includes("."))
    return `covers a whole top-level domain or is incomplete: write the full host, such as cdn.${hostname}`;
  if (publicSuffix === hostname && isIcann === true)
    return `covers everything below the public suffix ${hostname}: write the host, such as cdn.example.${hostname}`;
  if (!isWildcard) return undefined;
  if (publicSuffix === hostname)
    return `covers the sites of all customers of ${hostname}: write the full host`;
  const domain = suffixes.getDomain(hostname) ?? "";
  return SHARED_DOMAINS.has(domain)
    ? `may cover the sites of other customers of ${domain}: write the full host`
    : undefined;
}

/**
 * Domains that give hosts to customers at several depths, such as `<bucket>.s3.<region>.amazonaws.com`. The public
 * suffix list has none of these hosts, or not all.
 */
const SHARED_DOMAINS: ReadonlySet<string> = new Set(
  `aliyuncs.com amazonaws.com appdomain.cloud azure.com azurecontainerapps.io azurefd.net b-cdn.net backblazeb2.com
   bcebos.com cachefly.net cdn77.org cloudflarestorage.com cloudfunctions.net digitaloceanspaces.com edgecastcdn.net
   exo.io fastly.net gcdn.co glitch.me googleapis.com googleusercontent.com hs-sites.com idrivee2.com imgix.net
   kinsta.cloud koyeb.app kxcdn.com myqcloud.com on.aws oraclecloud.com rackcdn.com railway.app run.app scw.cloud
   storjshare.io tencentcos.cn upcloudobjects.com wasabisys.com windows.net wordpress.com wpengine.com`.split(
    /\s+/,
  ),
);

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: programs without an inventory need none of it
const publicSuffixes = (): typeof PublicSuffixes => require("tldts") as typeof PublicSuffixes;

/** Finds the entry that covers a script. */
export class PatternIndex<T extends { readonly pattern: ScriptPattern }> {
  readonly #exact = new Map<string, T>();
  /** Entries that cover more than one URL, the most specific first. */
  readonly #wide: T[] = [];

  constructor(entries: Iterable<T>) {
    for (const entry of entries) {
      const { kind, address, isWildcard, text } = entry.pattern;
      if (address === undefined || (kind === "url" && !isWildcard)) this.#exact.set(text, entry);
      else this.#wide.push(entry);
    }
    this.#wide.sort((a, b) => bySpecificity(a.pattern, b.pattern));
  }

  /**
   * Returns the most specific entry that covers the URL: exact URLs come first, then paths (longest first), then hosts;
   * full hosts come before wildcards. Less specific entries don't count.
   */
  find(url: ScriptUrl): T | undefined {
    if (url.hasUser) return undefined;
    const covers = ({ pattern }: T): boolean => coversOrigin(pattern, url) && coversPath(pattern, url);
    return this.#exact.get(url.text) ?? this.#wide.find(covers);
  }
}

function coversOrigin({ address: wide, isWildcard }: ScriptPattern, { address }: ScriptUrl): boolean {
  if (wide === undefined || wide.scheme !== address?.scheme || wide.port !== address.port) return false;
  return isWildcard ? address.hostname.endsWith(`.${wide.hostname}`) : address.hostname === wide.hostname;
}

function coversPath({ kind, address, text }: ScriptPattern, url: ScriptUrl): boolean {
  if (kind === "host") return true;
  const path = url.address?.path ?? "";
  if (kind === "url") return pathAndQuery(text) === pathAndQuery(url.text);
  const folder = address?.path ?? "";
  return path.startsWith(folder) && isPlainPath(path.slice(folder.length));
}

function pathAndQuery(text: string): string {
  return text.replace(/^\w+:\/\/[^/]*/, "");
}

/**
 * Whether every server resolves the path to one below the entry's path. Some servers decode `%2F`, or treat `..;` as
 * the parent directory.
 */
function isPlainPath(path: string): boolean {
  return !/%(2F|5C|25|00)/.test(path) && !/(^|\/)\.{1,2}(;|\/|$)/.test(path);
}

const KINDS: readonly ScriptPattern["kind"][] = ["url", "folder", "host"];

function bySpecificity(a: ScriptPattern, b: ScriptPattern): number {
  const length = ({ address }: ScriptPattern, part: "path" | "hostname"): number =>
    address?.[part].length ?? 0;
  return (
    KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) ||
    length(b, "path") - length(a, "path") ||
    Number(a.isWildcard) - Number(b.isWildcard) ||
    length(b, "hostname") - length(a, "hostname")
  );
}
