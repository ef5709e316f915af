/**
 * Content-security policies as data: parsed, rendered in one order, linted, and asked whether they allow a script.
 * Directives and their meaning: CSP Level 3; which of them Cloudflare supports, its documentation says.
 */

/** Directives by their kebab-case name, each with its sources. */
export type Directives = ReadonlyMap<string, readonly string[]>;

/** What a program may write instead of text: `{ scriptSrc: ["'self'", "cdn.example.com"] }`. */
export type TypedDirectives = Readonly<Record<string, readonly string[] | boolean>>;

/** Directives Cloudflare enforces, in the order in which they are rendered. */
const SUPPORTED = [
  "default-src",
  "script-src",
  "connect-src",
  "img-src",
  "style-src",
  "font-src",
  "object-src",
  "media-src",
  "frame-src",
  "child-src",
  "worker-src",
  "manifest-src",
  "form-action",
  "base-uri",
  "frame-ancestors",
  "upgrade-insecure-requests",
];

/** Directives that take no sources. */
const WITHOUT_SOURCES = ["upgrade-insecure-requests", "block-all-mixed-content"];

/** A keyword, nonce or hash that somebody forgot to quote. */
const UNQUOTED =
  /^(self|none|unsafe-inline|unsafe-eval|unsafe-hashes|wasm-unsafe-eval|strict-dynamic|report-sample|nonce-.+|sha(256|384|512)-.+)$/i;

/** The value cannot be read as a policy. */
export class CspError extends Error {
  override readonly name = "CspError";
}

/** @throws CspError for a directive that stands twice, a malformed name, or nothing at all. */
export function parseCsp(value: string | TypedDirectives): Directives {
  const written = typeof value === "string" ? fromText(value) : fromTyped(value);
  const directives = new Map<string, readonly string[]>();
  for (const [name, sources] of written) {
    if (!/^[a-z]+(-[a-z]+)*$/.test(name)) {
      throw new CspError(
        `"${name}" is no directive name: write letters and hyphens in text ("script-src"), camelCase as a key (scriptSrc)`,
      );
    }
    if (directives.has(name)) {
      throw new CspError(
        `the directive ${name} stands twice; browsers obey the first and ignore the other: merge them into one`,
      );
    }
    for (const source of sources) {
      if (source === "" || /[\s;,]/.test(source)) {
        throw new CspError(
          `${name} has the source ${JSON.stringify(source)}: a source is one word without space, comma or semicolon; write each as an item of its own`,
        );
      }
      if (takesSources(name) && UNQUOTED.test(source)) {
        throw new CspError(
          `${name} has ${source} without quotes, which names a host: write '${/^(nonce|sha)/i.test(source) ? source : source.toLowerCase()}' with single quotes`,
        );
      }
    }
    directives.set(name, canonicalSources(name, sources));
  }
  if (directives.size === 0)
    throw new CspError("the policy has no directive: write at least one, such as script-src 'self'");
  return directives;
}

/** The policy as text, directives and sources in one order. */
export function renderCsp(directives: Directives): string {
  return [...directives]
    .sort(([a], [b]) => rank(SUPPORTED, a) - rank(SUPPORTED, b) || compare(a, b))
    .map(([name, sources]) => [name, ...sources].join(" "))
    .join("; ");
}

/** The text by which two values of a policy are compared: equal policies have equal texts. */
export function canonicalCsp(value: string | TypedDirectives): string {
  return renderCsp(parseCsp(value));
}

/** What is allowed but rarely meant. `value` is what the user wrote: an empty list is not to be seen in the rendering. */
export function lintCsp(value: string | TypedDirectives): string[] {
  const warnings: string[] = [];
  const written = typeof value === "string" ? fromText(value) : fromTyped(value);
  for (const [name, sources] of written) {
    if (!SUPPORTED.includes(name))
      warnings.push(`the directive ${name} is not among those the service documents; it may be ignored`);
    if (sources.length === 0 && takesSources(name)) {
      warnings.push(
        `${name} has no source, which means 'none': nothing is allowed. Write 'none' if that is meant`,
      );
    }
    if (sources.length > 1 && sources.some((s) => s.toLowerCase() === "'none'")) {
      warnings.push(`${name} has 'none' beside other sources; browsers then ignore 'none'`);
    }
    if (sources.some((s) => /^'nonce-/i.test(s))) {
      warnings.push(
        `${name} has a nonce, which the service does not support: it would have to differ in every response`,
      );
    }
  }
  return warnings;
}

/** A script as far as a policy cares. */
export interface SeenScript {
  readonly url: string;
  /** Hostname of the page it was seen on. */
  readonly host: string;
}

/** Whether the policy lets the script load; undefined where only the browser could tell ('strict-dynamic'). */
export function allowsScript(directives: Directives, script: SeenScript): boolean | undefined {
  const sources = ["script-src-elem", "script-src", "default-src"]
    .map((name) => directives.get(name))
    .find((s) => s !== undefined);
  if (sources === undefined) return true;
  if (sources.includes("'strict-dynamic'")) return undefined;
  if (!URL.canParse(script.url)) return sources.includes("'unsafe-inline'"); // A reported item without a URL is inline.
  const url = new URL(script.url);
  return sources.some((source) => matches(source, url, script.host));
}

/** Whether one source expression matches (CSP Level 3, section 6.7.2). */
function matches(source: string, url: URL, pageHost: string): boolean {
  if (source === "'self'") return url.hostname === pageHost.toLowerCase();
  if (source.startsWith("'")) return false; // Keywords, nonces and hashes speak of other things than addresses.
  const network = ["http:", "https:", "ws:", "wss:"].includes(url.protocol);
  if (source === "*") return network;
  if (/^[a-z][a-z0-9+.-]*:$/.test(source))
    return source === url.protocol || (source === "http:" && url.protocol === "https:");

  const [, scheme, host = "", port, path] =
    /^(?:([a-z][a-z0-9+.-]*):\/\/)?([^/:]+)(?::(\d+|\*))?(\/.*)?$/.exec(source) ?? [];
  if (
    scheme === undefined
      ? !network
      : !(`${scheme}:` === url.protocol || (scheme === "http" && url.protocol === "https:"))
  )
    return false;
  if (host.startsWith("*.") ? !url.hostname.endsWith(host.slice(1)) : host !== url.hostname && host !== "*")
    return false;
  if (port !== "*" && (port ?? "") !== url.port && !(port === defaultPort(url) && url.port === ""))
    return false;
  if (path === undefined || path === "/") return true;
  return path.endsWith("/") ? url.pathname.startsWith(path) : url.pathname === path;
}

function defaultPort(url: URL): string {
  return url.protocol === "https:" || url.protocol === "wss:" ? "443" : "80";
}

function fromText(text: string): [string, string[]][] {
  return text
    .split(";")
    .map((part) => part.trim().split(/\s+/))
    .filter(([name]) => name !== undefined && name !== "")
    .map(([name = "", ...sources]) => [name.toLowerCase(), sources]);
}

function fromTyped(typed: TypedDirectives): [string, readonly string[]][] {
  return Object.entries(typed)
    .filter(([, sources]) => sources !== false)
    .map(([key, sources]) => [
      key.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`),
      sources === true || sources === false ? [] : sources,
    ]);
}

/** Whether a directive's words are sources. Those of others (report-to, sandbox, trusted-types) are none of our business. */
function takesSources(name: string): boolean {
  return SUPPORTED.includes(name)
    ? !WITHOUT_SOURCES.includes(name)
    : name.endsWith("-src") || /-src-(elem|attr)$/.test(name);
}

/** Sources are a set: keywords first, then hashes, then addresses, each alphabetically. Other words stay as written. */
function canonicalSources(name: string, sources: readonly string[]): readonly string[] {
  if (!takesSources(name)) return sources;
  if (sources.length === 0) return ["'none'"];
  const group = (source: string): number =>
    /^'(nonce|sha\d+)-/.test(source) ? 1 : source.startsWith("'") ? 0 : 2;
  return [...new Set(sources.map(canonicalSource))].sort((a, b) => group(a) - group(b) || compare(a, b));
}

/** Lower case where case has no meaning: keywords, scheme and host. A path, nonce or hash keeps its own. */
function canonicalSource(source: string): string {
  if (/^'(nonce|sha\d+)-/i.test(source))
    return source.replace(/^'[a-z0-9]+-/i, (prefix) => prefix.toLowerCase());
  if (source.startsWith("'")) return source.toLowerCase();
  const [, address = "", path = ""] = /^((?:[a-z][a-z0-9+.-]*:\/\/)?[^/]*)(.*)$/i.exec(source) ?? [];
  return address.toLowerCase() + path;
}

function rank(order: readonly string[], name: string): number {
  const index = order.indexOf(name);
  return index === -1 ? order.length : index;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
