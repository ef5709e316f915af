import { parseUrl } from "../basics/url";
import { describe } from "../basics/json";
import { nearest } from "../basics/nearest";
import { compareText } from "../basics/words";

/**
 * Parses Content Security Policies, renders them in canonical order, lints them, and decides whether one allows a
 * script. Directives follow CSP Level 3 (https://www.w3.org/TR/CSP3/). Cloudflare's documentation lists those that Page
 * Shield supports.
 */

/** The sources of each directive, by its kebab-case name. */
export type Directives = ReadonlyMap<string, readonly string[]>;

/** A policy as an object: `{ scriptSrc: ["'self'", "cdn.example.com"] }`. */
export type TypedDirectives = Readonly<Record<string, readonly string[] | boolean>>;

/** CSP text or an object of directives that hasn't been checked yet. */
type CspInput = string | Readonly<Record<string, unknown>>;

/** Directives that Page Shield supports, in rendering order: https://developers.cloudflare.com/client-side-security/rules/csp-directives/ */
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

/** Other directives that browsers support or used to support. */
const OTHER_DIRECTIVES = [
  "script-src-elem",
  "script-src-attr",
  "style-src-elem",
  "style-src-attr",
  "fenced-frame-src",
  "prefetch-src",
  "navigate-to",
  "sandbox",
  "report-to",
  "report-uri",
  "require-trusted-types-for",
  "trusted-types",
  "block-all-mixed-content",
  "plugin-types",
  "require-sri-for",
];

const ALL_DIRECTIVES = [...SUPPORTED, ...OTHER_DIRECTIVES];

/** Directives that take no sources. */
const SOURCELESS = ["upgrade-insecure-requests", "block-all-mixed-content"];

const KEYWORDS =
  "self none unsafe-inline unsafe-eval unsafe-hashes wasm-unsafe-eval strict-dynamic report-sample inline-speculation-rules trusted-types-eval report-sha256 report-sha384 report-sha512".split(
    " ",
  );

/** A keyword, nonce or hash without its quotes. */
const UNQUOTED = new RegExp(`^(${KEYWORDS.join("|")}|nonce-.+|sha(256|384|512)-.+)$`, "i");

export interface CspProblem {
  /** The path of the mistake in an object: the directive and the source's index. Empty for text. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Thrown for an invalid policy. Lists every mistake in it. */
export class CspError extends Error {
  override readonly name = "CspError";

  constructor(readonly problems: readonly CspProblem[]) {
    super(problems.map(({ message }) => message).join(". "));
  }
}

/** @throws CspError for unknown or repeated directives, malformed sources, or an empty policy. */
export function parseCsp(value: CspInput): Directives {
  const directives = new Map<string, readonly string[]>();
  const problems: CspProblem[] = [];
  for (const directive of directivesOf(value)) {
    const { name, written, sources, path } = directive;
    const corrected = ALL_DIRECTIVES.includes(name) ? name : closestDirective(name);
    if (corrected !== name) {
      const [known, form] =
        path.length === 0 ? [SUPPORTED, String] : [SUPPORTED.map(toCamelCase), toCamelCase];
      const advice =
        corrected === undefined
          ? `Use one of: ${known.join(", ")}`
          : `Did you mean ${JSON.stringify(form(corrected))}?`;
      problems.push({ path, message: `${describe(written)} is not a CSP directive. ${advice}` });
    } else if (directives.has(name)) {
      const message = `${name} is declared twice, and browsers ignore the second one. Merge them`;
      problems.push({ path, message });
    }
    problems.push(...sourceProblems(directive, corrected ?? name));
    directives.set(name, canonicalSources(name, sources.map(String)));
  }
  if (directives.size === 0)
    problems.push({
      path: [],
      message: "the policy has no directives. Write at least one, such as script-src 'self'",
    });
  if (problems.length > 0) throw new CspError(problems);
  return directives;
}

/** Parses a policy that someone else may have written. Undefined if it's invalid. */
export function parseForeignCsp(value: string): Directives | undefined {
  try {
    return parseCsp(value);
  } catch (error) {
    if (error instanceof CspError) return undefined;
    throw error;
  }
}

function sourceProblems({ sources, path, malformed }: Directive, name: string): CspProblem[] {
  if (malformed !== undefined) return [{ path, message: malformed }];
  const isText = path.length === 0;
  return sources.flatMap((source, index): CspProblem[] => {
    const sourcePath = isText ? [] : [...path, index];
    if (typeof source !== "string")
      return [{ path: sourcePath, message: `must be a string, not ${describe(source)}` }];
    if (source === "" || /[\s;,]/.test(source)) {
      const advice = isText ? "Separate sources with spaces" : "Write each source as a separate item";
      const message = `${name} contains ${JSON.stringify(source)}, but a source can't be empty or contain spaces, commas or semicolons. ${advice}`;
      return [{ path: sourcePath, message }];
    }
    if (!takesSources(name)) return [];
    const word = source.replace(/['"‘’“”`]/g, "");
    const isQuoted = /^'(nonce|sha\d+)-/i.test(source) || (source === `'${word}'` && UNQUOTED.test(word));
    const keyword = word === source || isQuoted ? undefined : nearest(word, KEYWORDS);
    const advice = `which browsers ignore. Did you mean '${keyword}'?`;
    if (keyword !== undefined) return [{ path: sourcePath, message: `${name} has ${source}, ${advice}` }];
    if (!UNQUOTED.test(source)) return [];
    const quoted = `'${/^(nonce|sha)/i.test(source) ? source : source.toLowerCase()}'`;
    const message = `${name} has ${source} without quotes, so browsers treat it as a hostname. Write ${quoted}, with single quotes`;
    return [{ path: sourcePath, message }];
  });
}

/** Finds the directive that a misspelled name probably means, ignoring the characters between words. */
function closestDirective(name: string): string | undefined {
  const plain = (text: string): string => text.replace(/[^a-z]/g, "");
  const near = nearest(plain(name), ALL_DIRECTIVES.map(plain));
  return ALL_DIRECTIVES.find((known) => plain(known) === near);
}

function toCamelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Renders the policy as text, with the directives in canonical order. */
export function renderCsp(directives: Directives): string {
  return [...directives]
    .sort(([a], [b]) => rank(SUPPORTED, a) - rank(SUPPORTED, b) || compareText(a, b))
    .map(([name, sources]) => [name, ...sources].join(" "))
    .join("; ");
}

/** Returns the canonical text of a policy. Equal policies have equal texts. */
export function canonicalCsp(value: CspInput): string {
  return renderCsp(parseCsp(value));
}

/**
 * Returns warnings about valid directives that are rarely intended. Takes the value as written, because a rendered
 * policy shows an empty list as `'none'`.
 */
export function lintCsp(value: CspInput): string[] {
  const warnings: string[] = [];
  const written = directivesOf(value);
  for (const { name, sources: given, path } of written) {
    const sources = given.map(String);
    const merged = sources.filter((s) => ALL_DIRECTIVES.includes(s.toLowerCase()));
    if (merged.length > 0) {
      const advice = path.length === 0 ? "Write ; before it" : "Declare it as a directive of its own";
      warnings.push(`${name} has ${merged.join(" ")}, which looks like a directive. ${advice}`);
    } else if (sources.length > 0 && SOURCELESS.includes(name)) {
      warnings.push(`${name} takes no sources, so browsers ignore ${sources.join(" ")}. Remove it`);
    }
    if (!SUPPORTED.includes(name))
      warnings.push(`Page Shield doesn't list ${name} among its supported directives and may ignore it`);
    if (sources.length === 0 && takesSources(name)) {
      warnings.push(
        `${name} has no sources, which is the same as 'none' and allows nothing. If that's intended, write 'none'`,
      );
    }
    if (sources.length > 1 && sources.some((s) => s.toLowerCase() === "'none'")) {
      warnings.push(
        `${name} has 'none' next to other sources, so browsers ignore 'none'. Remove 'none', or the other sources`,
      );
    }
    if (sources.some((s) => /^'nonce-/i.test(s))) {
      warnings.push(
        `${name} has a nonce, which Page Shield doesn't support: a nonce has to be different in every response. Use a hash`,
      );
    }
    const unmatched = takesSources(name) ? sources.filter(matchesNothing) : [];
    if (unmatched.length > 0) {
      warnings.push(
        `${name} has ${unmatched.join(" ")}, which matches nothing. Write a host such as cdn.example.com or *.example.com, alone or after https://, and a path without wildcards: /js/ stands for everything below it`,
      );
    }
    const hashes = sources.filter(isWrongHash);
    if (hashes.length > 0) {
      warnings.push(
        `${name} has ${hashes.join(" ")}, which matches nothing: in base64, SHA-256 has 44 characters, SHA-384 64 and SHA-512 88`,
      );
    }
    const embedders = name === "frame-ancestors" ? sources.filter((s) => !/^'(none|self)'$/i.test(s)) : [];
    if (embedders.length > 0) {
      warnings.push(
        `Page Shield supports only 'none' and 'self' in frame-ancestors (the sites that may embed the page) and may ignore ${embedders.join(" ")}`,
      );
    }
  }
  return [...warnings, ...wideSourceWarnings(written)];
}

/** Returns warnings about sources that allow almost any script, such as `*` or `'unsafe-inline'`. */
function wideSourceWarnings(written: readonly Directive[]): string[] {
  const isDeclared = (name: string): boolean => written.some((directive) => directive.name === name);
  const scriptDirectives = ["script-src", "script-src-elem", "script-src-attr"];
  if (!isDeclared("script-src")) scriptDirectives.push("default-src");
  return written
    .filter(({ name }) => scriptDirectives.includes(name))
    .flatMap(({ name, sources: given }) => {
      const sources = given.map((source) => String(source).toLowerCase());
      // With 'strict-dynamic', browsers use only nonces and hashes; the rest is for older browsers.
      const isDynamic = sources.includes("'strict-dynamic'");
      const descriptions = isDynamic
        ? []
        : [...new Set(sources)].flatMap((source) => describeWideSource(source, sources));
      return descriptions.length === 0 ? [] : [`${name} is very permissive: ${descriptions.join(", ")}`];
    });
}

function describeWideSource(source: string, all: readonly string[]): string[] {
  if (source === "'unsafe-inline'")
    return all.some(isNonceOrHash) // Next to a nonce or a hash, browsers ignore 'unsafe-inline'.
      ? []
      : [`${source} allows inline scripts, including injected ones`];
  if (source === "data:") return [`${source} allows scripts in data: URLs, including injected ones`];
  if (!["http:", "https:"].includes(source) && !matchesAnyHost(source)) return [];
  return [`${source} allows scripts from any host${source.startsWith("http:") ? ", even unencrypted" : ""}`];
}

/**
 * Whether a source is a nonce or a hash to browsers, which ignore any other notation, such as an empty value or SHA-1
 * (CSP Level 3, section 2.3.1).
 */
export function isNonceOrHash(source: string): boolean {
  return /^'(nonce|sha(256|384|512))-[a-z\d+/_-]+={0,2}'$/i.test(source);
}

/** Whether a hash is too short or too long for its algorithm. */
function isWrongHash(source: string): boolean {
  const [, bits, digest = ""] = /^'sha(256|384|512)-([^=]*)=*'$/i.exec(source) ?? [];
  return bits !== undefined && digest.length !== Math.ceil(Number(bits) / 6);
}

/** Whether a source is `*`, with or without http(s):// and a port. */
function matchesAnyHost(source: string): boolean {
  return /^(https?:\/\/)?\*(:(\d+|\*))?\/?$/.test(source);
}

/** Whether a source is neither a scheme nor an address (CSP Level 3, section 2.3.1), or has a path with a wildcard. */
function matchesNothing(source: string): boolean {
  return source.startsWith("'") ? !UNQUOTED.test(source.slice(1, -1)) : !ADDRESS.test(source);
}

const ADDRESS =
  /^([a-z][a-z\d+.-]*:|([a-z][a-z\d+.-]*:\/\/)?(\*|(\*\.)?[\w-]+(\.[\w-]+)*)(:(\d{1,5}|\*))?(\/(?!\/)[^*]*)?)$/i;

/** A script or connection of a page. */
export interface Load {
  readonly url: string;
  /** The hostname of the page. */
  readonly host: string;
}

/** What Page Shield reports, with the directives that decide about it, nearest first. */
export const REPORTED = {
  script: ["script-src-elem", "script-src", "default-src"],
  connection: ["connect-src", "default-src"],
} as const;
export type Reported = keyof typeof REPORTED;

/** Returns the sources that decide about a kind of load. Undefined if the policy allows everything. */
export function decidingSources(directives: Directives, kind: Reported): readonly string[] | undefined {
  return REPORTED[kind].map((name) => directives.get(name)).find((sources) => sources !== undefined);
}

/**
 * Whether the policy allows a script or connection. Undefined if only the browser can decide ('strict-dynamic'). Unless
 * a zone records the paths of connections, their URLs end after the host, so a source's path says nothing about them.
 */
export function allows(directives: Directives, kind: Reported, load: Load): boolean | undefined {
  const sources = decidingSources(directives, kind);
  if (sources === undefined) return true;
  const isScript = kind === "script";
  if (isScript && sources.includes("'strict-dynamic'")) return undefined;
  const url = parseUrl(load.url);
  if (url === undefined) return isScript && sources.includes("'unsafe-inline'"); // A detection without a URL is an inline script.
  const isWithoutPath = !isScript && url.pathname === "/";
  return sources.some((source) => matches(source, url, load.host, isWithoutPath));
}

/** Encodes characters in a path that would end the source. */
export function escapeForSource(path: string): string {
  return path.replace(/[;,'\s]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Whether one source matches the URL (CSP Level 3, section 6.7.2). */
function matches(source: string, url: URL, pageHost: string, isWithoutPath: boolean): boolean {
  if (source === "'self'") return url.hostname === pageHost.toLowerCase();
  const address = source.startsWith("'") ? undefined : parseAddress(source); // Keywords, nonces and hashes match no URL.
  if (address === undefined) return false;
  const scheme = url.protocol.slice(0, -1);
  const isNetwork = NETWORK_SCHEMES.includes(scheme);
  if (source === "*") return isNetwork;
  // A source without a scheme has the page's, which is a network scheme.
  const wide = {
    ...address,
    ...(address.scheme === undefined && isNetwork ? { scheme } : {}),
    ...(isWithoutPath ? { path: "" } : {}),
  };
  return coversAddress(wide, { scheme, host: url.hostname, port: url.port, path: url.pathname });
}

/** The parts of a source that can match URLs. */
export interface Address {
  /** The scheme. Undefined if the page's own scheme applies. */
  readonly scheme: string | undefined;
  /** The host. Undefined for a source that is only a scheme, which matches every host. */
  readonly host: string | undefined;
  readonly port: string | undefined;
  readonly path: string;
}

/** Parses a source as an address. Undefined if the source isn't an address. */
export function parseAddress(source: string): Address | undefined {
  const alone = /^([a-z][a-z0-9+.-]*):$/.exec(source)?.[1];
  if (alone !== undefined) return { scheme: alone, host: undefined, port: undefined, path: "" };
  const [whole, scheme, host, port, path = ""] =
    /^(?:([a-z][a-z0-9+.-]*):\/\/)?([^/:]+)(?::(\d+|\*))?(\/.*)?$/.exec(source) ?? [];
  return whole === undefined ? undefined : { scheme, host, port, path };
}

export const NETWORK_SCHEMES: readonly (string | undefined)[] = ["http", "https", "ws", "wss"];

/** The secure variant of each scheme. A source with the insecure scheme also allows the secure one. */
const SECURE: Readonly<Record<string, string>> = { http: "https", ws: "wss" };
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: "80", https: "443", ws: "80", wss: "443" };

/** Whether a source with the first address allows everything at the second one. */
export function coversAddress(wide: Address, narrow: Address): boolean {
  return coversScheme(wide, narrow) && coversHost(wide, narrow) && coversPath(wide, narrow);
}

function coversScheme({ scheme: wide }: Address, { scheme: narrow }: Address): boolean {
  if (wide === narrow) return true;
  // On a page without TLS, a policy protects nothing that could be changed on its way anyway.
  if (narrow === undefined) return wide === "https";
  return wide === undefined ? narrow === "https" : SECURE[wide] === narrow;
}

function coversHost(wide: Address, narrow: Address): boolean {
  if (wide.host === undefined) return true;
  if (narrow.host === undefined || (wide.port !== "*" && portOf(wide, narrow) !== portOf(narrow, narrow)))
    return false;
  if (wide.host === "*" || wide.host === narrow.host) return true;
  return wide.host.startsWith("*.") && narrow.host.endsWith(wide.host.slice(1));
}

/** Returns an address's port: empty if it's the default of the scheme that's requested. */
function portOf({ port = "" }: Address, { scheme = "" }: Address): string {
  return port === DEFAULT_PORTS[scheme] ? "" : port;
}

function coversPath(wide: Address, narrow: Address): boolean {
  if (wide.path === "" || wide.path === "/") return true;
  return wide.path.endsWith("/") ? narrow.path.startsWith(wide.path) : wide.path === narrow.path;
}

interface Directive {
  /** The directive's name in kebab-case. */
  readonly name: string;
  readonly written: string;
  /** The sources: strings, or anything else by mistake. */
  readonly sources: readonly unknown[];
  /** The directive's key in an object; empty for text. */
  readonly path: readonly string[];
  /** Why the directive's sources can't be read. Absent if they can. */
  readonly malformed?: string;
}

function directivesOf(value: CspInput): Directive[] {
  return typeof value === "string" ? fromText(value) : fromTyped(value);
}

function fromText(text: string): Directive[] {
  return text
    .split(";")
    .map((part) => part.trim().split(/\s+/))
    .filter(([name]) => name !== undefined && name !== "")
    .map(([name = "", ...sources]) => ({ name: name.toLowerCase(), written: name, sources, path: [] }));
}

function fromTyped(typed: Readonly<Record<string, unknown>>): Directive[] {
  return Object.entries(typed)
    .filter(([, sources]) => sources !== false)
    .map(([key, given]): Directive => {
      const directive = {
        name: key.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`),
        written: key,
        sources: Array.isArray(given) ? (given as readonly unknown[]) : [],
        path: [key],
      };
      if (Array.isArray(given) || given === true) return directive;
      const malformed = `must be a list of sources, or true for a directive without sources, not ${describe(given)}`;
      return { ...directive, malformed };
    });
}

/** Whether the words after a directive are sources. For report-to, sandbox and trusted-types, they aren't. */
function takesSources(name: string): boolean {
  return SUPPORTED.includes(name)
    ? !SOURCELESS.includes(name)
    : name.endsWith("-src") || /-src-(elem|attr)$/.test(name);
}

/**
 * Sorts and deduplicates a directive's sources: keywords, then nonces and hashes, then hosts and schemes. An empty list
 * becomes `'none'`. Values of directives that don't take sources are returned unchanged.
 */
function canonicalSources(name: string, sources: readonly string[]): readonly string[] {
  if (!takesSources(name)) return sources;
  if (sources.length === 0) return ["'none'"];
  const group = (source: string): number =>
    /^'(nonce|sha\d+)-/.test(source) ? 1 : source.startsWith("'") ? 0 : 2;
  return [...new Set(sources.map(canonicalSource))].sort((a, b) => group(a) - group(b) || compareText(a, b));
}

/** Lowercases keywords, schemes and hosts. Case matters in paths, nonces and hashes. */
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
