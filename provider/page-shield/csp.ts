import { describe } from "../runtime/inputs";
import { nearest } from "../runtime/nearest";

/**
 * Content-security policies as data: parsed, rendered in one order, linted, and asked whether they allow a script.
 * Directives and their meaning: CSP Level 3; which of them Cloudflare supports, its documentation says.
 */

/** Directives by their kebab-case name, each with its sources. */
export type Directives = ReadonlyMap<string, readonly string[]>;

/** What a program may write instead of text: `{ scriptSrc: ["'self'", "cdn.example.com"] }`. */
export type TypedDirectives = Readonly<Record<string, readonly string[] | boolean>>;

/** CSP text, or what stands in place of typed directives. */
type CspInput = string | Readonly<Record<string, unknown>>;

/** Directives that Page Shield supports, in the order in which they are rendered: https://developers.cloudflare.com/page-shield/policies/csp-directives/ */
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

/** Directives that browsers know as well, or used to know. */
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

/** A keyword, nonce or hash that somebody forgot to quote. */
const UNQUOTED =
  /^(self|none|unsafe-inline|unsafe-eval|unsafe-hashes|wasm-unsafe-eval|strict-dynamic|report-sample|nonce-.+|sha(256|384|512)-.+)$/i;

/** One mistake in a policy. */
export interface CspProblem {
  /** Directive and source in the typed form; empty for a text. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The value cannot be read as a policy. Holds every mistake in it. */
export class CspError extends Error {
  override readonly name = "CspError";

  constructor(readonly problems: readonly CspProblem[]) {
    super(problems.map(({ message }) => message).join(". "));
  }
}

/** @throws CspError for names that are no directives, a directive that stands twice, malformed sources, or nothing at all. */
export function parseCsp(value: CspInput): Directives {
  const directives = new Map<string, readonly string[]>();
  const problems: CspProblem[] = [];
  for (const directive of directivesOf(value)) {
    const { name, written, sources, path } = directive;
    const meant = ALL_DIRECTIVES.includes(name) ? name : closestDirective(name);
    if (meant !== name) {
      const [known, form] =
        path.length === 0 ? [SUPPORTED, String] : [SUPPORTED.map(toCamelCase), toCamelCase];
      const advice =
        meant === undefined
          ? `Directives: ${known.join(", ")}`
          : `Did you mean ${JSON.stringify(form(meant))}?`;
      problems.push({ path, message: `${JSON.stringify(written)} is not a CSP directive. ${advice}` });
    } else if (directives.has(name)) {
      const message = `${name} is declared twice; browsers obey the first and ignore the other. Merge them into one`;
      problems.push({ path, message });
    }
    problems.push(...sourceProblems(directive, meant ?? name));
    directives.set(name, canonicalSources(name, sources.map(String)));
  }
  if (directives.size === 0)
    problems.push({
      path: [],
      message: "the policy has no directive: write at least one, such as script-src 'self'",
    });
  if (problems.length > 0) throw new CspError(problems);
  return directives;
}

function sourceProblems({ sources, path, malformed }: Directive, name: string): CspProblem[] {
  if (malformed !== undefined) return [{ path, message: malformed }];
  const isText = path.length === 0;
  return sources.flatMap((source, index): CspProblem[] => {
    const where = isText ? [] : [...path, index];
    if (typeof source !== "string")
      return [{ path: where, message: `has to be a string; it is ${describe(source)}` }];
    if (source === "" || /[\s;,]/.test(source)) {
      const separate = isText ? "Separate sources with spaces" : "Write each source as an item of its own";
      const message = `${name} has the source ${JSON.stringify(source)}; a source is one word without space, comma or semicolon. ${separate}`;
      return [{ path: where, message }];
    }
    if (!takesSources(name) || !UNQUOTED.test(source)) return [];
    const quoted = `'${/^(nonce|sha)/i.test(source) ? source : source.toLowerCase()}'`;
    const message = `${name} has ${source} without quotes, which is the name of a host. Write ${quoted}, with single quotes`;
    return [{ path: where, message }];
  });
}

/** The directive that a name was probably meant to be, whatever stands between its words. */
function closestDirective(name: string): string | undefined {
  const plain = (text: string): string => text.replace(/[^a-z]/g, "");
  const near = nearest(plain(name), ALL_DIRECTIVES.map(plain));
  return ALL_DIRECTIVES.find((known) => plain(known) === near);
}

function toCamelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The policy as text, directives and sources in one order. */
export function renderCsp(directives: Directives): string {
  return [...directives]
    .sort(([a], [b]) => rank(SUPPORTED, a) - rank(SUPPORTED, b) || compare(a, b))
    .map(([name, sources]) => [name, ...sources].join(" "))
    .join("; ");
}

/** The text by which two values of a policy are compared: equal policies have equal texts. */
export function canonicalCsp(value: CspInput): string {
  return renderCsp(parseCsp(value));
}

/** What is allowed but rarely meant. `value` is what the user wrote: an empty list is not to be seen in the rendering. */
export function lintCsp(value: CspInput): string[] {
  const warnings: string[] = [];
  const written = directivesOf(value);
  for (const { name, sources: given } of written) {
    const sources = given.map(String);
    if (!SUPPORTED.includes(name))
      warnings.push(`${name} is not among the directives that Page Shield supports; it may be ignored`);
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
        `${name} has a nonce, which Page Shield does not support: it would have to differ in every response`,
      );
    }
    const embedders = name === "frame-ancestors" ? sources.filter((s) => !/^'(none|self)'$/i.test(s)) : [];
    if (embedders.length > 0) {
      warnings.push(
        `frame-ancestors says which sites may embed the page, and Page Shield takes only 'none' and 'self' there: ${embedders.join(" ")} may be ignored`,
      );
    }
  }
  return [...warnings, ...wideSourceWarnings(written)];
}

/** What visitors' browsers would run although nobody chose it. Where one of these is meant, the warning does no harm. */
function wideSourceWarnings(written: readonly Directive[]): string[] {
  const isDeclared = (name: string): boolean => written.some((directive) => directive.name === name);
  const ofScripts = ["script-src", "script-src-elem", "script-src-attr"];
  if (!isDeclared("script-src")) ofScripts.push("default-src");
  return written
    .filter(({ name }) => ofScripts.includes(name))
    .flatMap(({ name, sources: given }) => {
      const sources = given.map((source) => String(source).toLowerCase());
      // Browsers then look at what carries a nonce or a hash; the rest is there for old ones.
      const isDynamic = sources.includes("'strict-dynamic'");
      const allowed = isDynamic
        ? []
        : [...new Set(sources)].flatMap((source) => describeWideSource(source, sources));
      return allowed.length === 0 ? [] : [`${name} is very wide: ${allowed.join(", ")}`];
    });
}

function describeWideSource(source: string, all: readonly string[]): string[] {
  if (source === "'unsafe-inline'")
    return all.some((each) => /^'(nonce|sha\d+)-/.test(each)) // Browsers then ignore it.
      ? []
      : [`${source} runs inline scripts, injected ones too`];
  if (source === "data:") return [`${source} runs scripts written into a data: URL, injected ones too`];
  if (!["http:", "https:"].includes(source) && !matchesAnyHost(source)) return [];
  return [`${source} loads scripts from any host${source.startsWith("http:") ? ", also unencrypted" : ""}`];
}

/** `*`, whatever its scheme and port. */
function matchesAnyHost(source: string): boolean {
  return /^(https?:\/\/)?\*(:(\d+|\*))?\/?$/.test(source);
}

/** A script as far as a policy cares. */
export interface LoadedScript {
  readonly url: string;
  /** Hostname of the page it was seen on. */
  readonly host: string;
}

/** Whether the policy lets the script load; undefined where only the browser could tell ('strict-dynamic'). */
export function allowsScript(directives: Directives, script: LoadedScript): boolean | undefined {
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
  const { scheme, host, port, path } = parseAddress(source) ?? {
    scheme: undefined,
    host: "",
    port: undefined,
    path: "",
  };
  if (host === undefined) return source === url.protocol || (source === "http:" && url.protocol === "https:");

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
  if (path === "" || path === "/") return true;
  return path.endsWith("/") ? url.pathname.startsWith(path) : url.pathname === path;
}

/** A source expression that is no keyword, in its parts. */
export interface Address {
  /** Undefined where the page's own counts. */
  readonly scheme: string | undefined;
  /** Undefined of a scheme alone, which is for every host. */
  readonly host: string | undefined;
  readonly port: string | undefined;
  readonly path: string;
}

/** Undefined of what is no address. */
export function parseAddress(source: string): Address | undefined {
  const alone = /^([a-z][a-z0-9+.-]*):$/.exec(source)?.[1];
  if (alone !== undefined) return { scheme: alone, host: undefined, port: undefined, path: "" };
  const [whole, scheme, host, port, path = ""] =
    /^(?:([a-z][a-z0-9+.-]*):\/\/)?([^/:]+)(?::(\d+|\*))?(\/.*)?$/.exec(source) ?? [];
  return whole === undefined ? undefined : { scheme, host, port, path };
}

function defaultPort(url: URL): string {
  return url.protocol === "https:" || url.protocol === "wss:" ? "443" : "80";
}

/** A directive as it is written. */
interface Directive {
  /** In kebab-case. */
  readonly name: string;
  readonly written: string;
  /** Each is a text, or a mistake. */
  readonly sources: readonly unknown[];
  /** Its key in the typed form; empty for a text. */
  readonly path: readonly string[];
  /** Why there are no sources to look at. */
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
      const malformed = `has to be a list of sources, or true for a directive without sources; it is ${describe(given)}`;
      return { ...directive, malformed };
    });
}

/** Whether a directive's words are sources. Those of others (report-to, sandbox, trusted-types) are none of our business. */
function takesSources(name: string): boolean {
  return SUPPORTED.includes(name)
    ? !SOURCELESS.includes(name)
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
