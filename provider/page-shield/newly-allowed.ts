import { ownMember } from "../runtime/values";
import { parseAddress, type Address, type Directives } from "./csp";

/** What a policy allows that another one doesn't: by directive, with the fallbacks that browsers follow (CSP Level 3). */

export interface NewlyAllowed {
  /** The directive whose sources say so; of one that is gone, itself. */
  readonly directive: string;
  /** The directives that decided before: another one, where it fell away or this one came in between. */
  readonly before: readonly string[];
  /** Sources that the earlier policy doesn't cover; undefined where everything is allowed now. */
  readonly sources: readonly string[] | undefined;
}

/** Where a directive that isn't declared takes its sources from, nearest first. */
const FALLBACKS: Readonly<Record<string, readonly string[]>> = {
  "script-src": ["default-src"],
  "script-src-elem": ["script-src", "default-src"],
  "script-src-attr": ["script-src", "default-src"],
  "style-src": ["default-src"],
  "style-src-elem": ["style-src", "default-src"],
  "style-src-attr": ["style-src", "default-src"],
  "worker-src": ["child-src", "script-src", "default-src"],
  "frame-src": ["child-src", "default-src"],
  "child-src": ["default-src"],
  "connect-src": ["default-src"],
  "img-src": ["default-src"],
  "font-src": ["default-src"],
  "object-src": ["default-src"],
  "media-src": ["default-src"],
  "manifest-src": ["default-src"],
  "prefetch-src": ["default-src"],
  "fenced-frame-src": ["frame-src", "child-src", "default-src"],
  "form-action": [],
  "base-uri": [],
  "frame-ancestors": [],
};

/** Everything that the second policy lets through and the first does not, or may not: what can't be proven counts. */
export function newlyAllowed(before: Directives, after: Directives): readonly NewlyAllowed[] {
  const found = new Map<string, { readonly before: Set<string>; sources: Set<string> | undefined }>();
  const add = (directive: string, was: string, sources: readonly string[] | undefined): void => {
    const known = found.get(directive) ?? { before: new Set(), sources: new Set() };
    known.before.add(was);
    known.sources =
      sources === undefined || known.sources === undefined
        ? undefined
        : new Set([...known.sources, ...sources]);
    found.set(directive, known);
  };
  const known = new Map<string, readonly string[]>();
  const names = new Set([...Object.keys(FALLBACKS), ...before.keys(), ...after.keys()]);
  for (const name of names) {
    if (name === "default-src") continue; // It acts through those that fall back to it.
    const was = effectiveDirective(before, name);
    const is = effectiveDirective(after, name);
    if (was === undefined) continue; // Nothing was restricted.
    if (is === undefined) {
      add(was, was, undefined);
      continue;
    }
    const more =
      ownMember(FALLBACKS, name) === undefined
        ? addedKeywords(before, after, name)
        : addedSources(name, [was, before.get(was) ?? []], [is, after.get(is) ?? []], known);
    if (more.length > 0) add(is, was, more);
  }
  return [...found].map(([directive, { before, sources }]) => ({
    directive,
    before: [...before],
    sources: sources === undefined ? undefined : [...sources],
  }));
}

/** The directive that decides for this one. */
function effectiveDirective(directives: Directives, name: string): string | undefined {
  return [name, ...(ownMember(FALLBACKS, name) ?? [])].find((each) => directives.has(each));
}

/** A directive whose words aren't sources: what any other word than before does is not known. */
function addedKeywords(before: Directives, after: Directives, name: string): readonly string[] {
  const [was, is] = [before.get(name) ?? [], after.get(name) ?? []];
  // Each word of `sandbox` permits something.
  if (name === "sandbox") return is.filter((word) => !was.includes(word));
  return was.join(" ") === is.join(" ") ? [] : is.length === 0 ? [name] : is;
}

type DirectiveSources = readonly [directive: string, sources: readonly string[]];

/** @param known what was found before, as most directives fall back to the same few lists. */
function addedSources(
  name: string,
  was: DirectiveSources,
  is: DirectiveSources,
  known: Map<string, readonly string[]>,
): readonly string[] {
  const [old, now] = [effectiveSources(name, was), effectiveSources(name, is)];
  const key = JSON.stringify([old, now]);
  const same = new Set(old);
  const more =
    known.get(key) ??
    now.filter((source) => !same.has(source) && !old.some((other) => covers(other, source)));
  known.set(key, more);
  return more;
}

const isNonceOrHash = (source: string): boolean => /^'(nonce|sha\d+)-/.test(source);

/** Words that mean something for scripts alone, and for styles besides. A word that isn't here may for anything. */
const SCRIPT_WORDS = [
  "'strict-dynamic'",
  "'unsafe-eval'",
  "'wasm-unsafe-eval'",
  "'trusted-types-eval'",
  "'inline-speculation-rules'",
];
const STYLE_WORDS = ["'unsafe-inline'", "'unsafe-hashes'"];

/**
 * The sources that have an effect on what `name` stands for: beside others 'none' has none; a nonce or a hash takes
 * 'unsafe-inline' its effect. For scripts 'strict-dynamic' does so, too, and takes that of addresses; for nothing else.
 */
function effectiveSources(name: string, [directive, sources]: DirectiveSources): readonly string[] {
  const isScript = name.startsWith("script-src");
  const isStyle = name.startsWith("style-src");
  // A worker is a script where a directive of scripts decides.
  const isDynamic = (isScript || directive.startsWith("script-src")) && sources.includes("'strict-dynamic'");
  const isStrict = isDynamic || sources.some(isNonceOrHash);
  return sources.filter((source) => {
    if (source === "'none'" || source === "'report-sample'") return false;
    if (source === "'unsafe-inline'" && isStrict) return false;
    if (!source.startsWith("'") || source === "'self'") return !isDynamic;
    if (SCRIPT_WORDS.includes(source)) return isScript;
    return isScript || isStyle || !(isNonceOrHash(source) || STYLE_WORDS.includes(source));
  });
}

/** Whether whatever `narrow` allows, `wide` allows, too. */
function covers(wide: string, narrow: string): boolean {
  if (wide === narrow) return true;
  if (wide === "'unsafe-eval'") return narrow === "'wasm-unsafe-eval'";
  // `*` is every address of the network, on every port; the page's own is one of them.
  if (wide === "*") return narrow === "'self'" || isNetworkAddress(narrow);
  if (wide.startsWith("'") || narrow.startsWith("'")) return false;
  const [a, b] = [parseAddress(wide), parseAddress(narrow)];
  return a !== undefined && b !== undefined && coversScheme(a, b) && coversHost(a, b) && coversPath(a, b);
}

function isNetworkAddress(source: string): boolean {
  const address = source.startsWith("'") ? undefined : parseAddress(source);
  if (address === undefined) return false;
  return address.scheme === undefined || ["http", "https", "ws", "wss"].includes(address.scheme);
}

/** A scheme as a policy writes it stands for its secure form, too; without one it is the page's own. */
const SECURE: Readonly<Record<string, string>> = { http: "https", ws: "wss" };

function coversScheme({ scheme: wide }: Address, { scheme: narrow }: Address): boolean {
  if (wide === narrow) return true;
  if (narrow === undefined) return false;
  return wide === undefined ? narrow === "https" : SECURE[wide] === narrow;
}

function coversHost(wide: Address, narrow: Address): boolean {
  if (wide.host === undefined) return true;
  if (narrow.host === undefined || (wide.port !== "*" && wide.port !== narrow.port)) return false;
  if (wide.host === "*" || wide.host === narrow.host) return true;
  return wide.host.startsWith("*.") && narrow.host.endsWith(wide.host.slice(1));
}

function coversPath(wide: Address, narrow: Address): boolean {
  if (wide.path === "" || wide.path === "/") return true;
  return wide.path.endsWith("/") ? narrow.path.startsWith(wide.path) : wide.path === narrow.path;
}
