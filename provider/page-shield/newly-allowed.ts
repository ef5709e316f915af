import { ownMember } from "../basics/json";
import { inSeries } from "../basics/words";
import { isWiderOrEqual } from "../rules-language/equivalence";
import {
  coversAddress,
  isNonceOrHash,
  NETWORK_SCHEMES,
  parseAddress,
  parseCsp,
  parseForeignCsp,
  REPORTED,
  type Address,
  type Directives,
} from "./csp";
import { coverage } from "./source-coverage";

/**
 * Finds what a changed policy allows and the earlier one didn't. Compares by directive, with the fallbacks that
 * browsers use (CSP Level 3).
 */

export interface NewlyAllowed {
  /** The directive that now allows more, or the directive that was removed. */
  readonly directive: string;
  /**
   * The directives that applied before the change. They differ from `directive` if a directive was removed or added.
   */
  readonly before: readonly string[];
  /** Sources that the earlier policy doesn't cover. Undefined if everything is allowed now. */
  readonly sources: readonly string[] | undefined;
}

/** The fallbacks of each directive, nearest first. If a directive isn't declared, its fallback's sources apply. */
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

/**
 * Lists what the second policy allows and the first one doesn't, or may not. A source counts as new if it's unclear
 * whether the first policy allowed it.
 */
export function newlyAllowed(before: Directives, after: Directives): readonly NewlyAllowed[] {
  const changes = new Map<string, { readonly before: Set<string>; sources: Set<string> | undefined }>();
  for (const { earlier, later = earlier, sources } of compareByName(before, after)) {
    const change = changes.get(later) ?? { before: new Set(), sources: new Set() };
    change.before.add(earlier);
    change.sources =
      sources === undefined || change.sources === undefined
        ? undefined
        : new Set([...change.sources, ...sources]);
    changes.set(later, change);
  }
  return [...changes].map(([directive, { before, sources }]) => ({
    directive,
    before: [...before],
    sources: sources === undefined ? undefined : [...sources],
  }));
}

/** Directives that block nothing of their own, or nothing that a browser still loads. */
const NOT_NAMED: readonly string[] = [
  "prefetch-src",
  "upgrade-insecure-requests",
  "block-all-mixed-content",
  "report-to",
  "report-uri",
];

/** What a policy covers, and its CSP text. */
export interface PolicyText {
  readonly expression: string;
  readonly value: string;
}

/**
 * Names what a policy restricts more than before, and of which Page Shield reports nothing, so that nobody knows what
 * that blocks: whole directives, or the sources that scripts and connections lose, such as `script-src without data:`.
 *
 * @param before the policy as it blocked or logged until now. Undefined if it did neither.
 */
export function newlyUnreported(before: PolicyText | undefined, after: PolicyText): readonly string[] {
  const isKnown = before !== undefined && isWiderOrEqual(before.expression, after.expression);
  const known: Directives =
    (isKnown ? parseForeignCsp(before.value) : undefined) ?? new Map<string, string[]>();
  const now = parseCsp(after.value);
  const named = compareByName(now, known).flatMap((change) => {
    const { name, earlier, later } = change;
    // A worker counts as a script where the same directive decides about both.
    const isScript = name === "worker-src" && earlier === "script-src" && !now.has("script-src-elem");
    const isPart = PARTS.test(name) && name !== earlier && name !== later;
    if (NOT_NAMED.includes(name) || isScript || isPart) return [];
    return REPORTED_NAMES.includes(name) ? unreportedSources(change, now.get(earlier) ?? []) : [name];
  });
  return [...new Set(named)];
}

const REPORTED_NAMES: readonly string[] = [...REPORTED.script, ...REPORTED.connection];

/** @param change what a directive of the policy, with the sources `declared`, no longer allows. */
function unreportedSources(
  { name, earlier, sources }: AllowedByName,
  declared: readonly string[],
): readonly string[] {
  const allowed = effectiveSources(name, [earlier, declared]);
  const isInline = allowed.includes("'unsafe-inline'");
  // Without an earlier policy, everything is lost that isn't allowed. This is what pages commonly have, and other paths.
  const common =
    name === "connect-src"
      ? declared.flatMap((source) => /^[^']+?[^:/](?=\/)/.exec(source) ?? [])
      : ["'unsafe-inline'", "'unsafe-eval'"];
  const lost = (sources ?? common.filter((source) => !allowed.includes(source))).filter((source) => {
    if (source.endsWith("eval'")) return name === "script-src"; // Only that directive decides about it.
    if (isNonceOrHash(source) || source === "'unsafe-hashes'") return !isInline;
    const address = parseAddress(source);
    if (source.startsWith("'")) return !["'self'", "'strict-dynamic'"].includes(source);
    if (address === undefined) return false;
    if (address.host === undefined && !NETWORK_SCHEMES.includes(address.scheme)) return true;
    return name === "connect-src" && declared.some((narrow) => isPathOf({ ...address, path: "" }, narrow));
  });
  if (lost.length === 0) return [];
  const words = lost.map((source) => (source === "'unsafe-inline'" ? `${source} (inline scripts)` : source));
  const off = lost.some((source) => declared.includes(source))
    ? ", which a nonce, a hash or 'strict-dynamic' turns off,"
    : "";
  return [`${earlier} without ${inSeries(words, "or")}${off}`];
}

/** Whether a source allows some paths at an address. Most zones don't record the paths of connections. */
function isPathOf(wide: Address, source: string): boolean {
  const narrow = parseAddress(source);
  return narrow !== undefined && !["", "/"].includes(narrow.path) && coversAddress(wide, narrow);
}

export function unreportedText(directives: readonly string[]): string {
  return `nobody knows what ${inSeries(directives)} would block, because Page Shield doesn't report that. With action "log" first, the violations would tell`;
}

/** Directives for parts of what another one covers: named only if the policy has them. */
const PARTS = /-(?:elem|attr)$|^(?:child|fenced-frame)-src$/;

interface AllowedByName {
  readonly name: string;
  /** The directive of the first policy whose sources apply, and that of the second one. */
  readonly earlier: string;
  readonly later?: string;
  /** What only the second policy allows. Undefined for everything. */
  readonly sources: readonly string[] | undefined;
}

/** Compares two policies by each directive that browsers know, declared or not. */
function compareByName(before: Directives, after: Directives): AllowedByName[] {
  const cache = new Map<string, readonly string[]>();
  const names = new Set([...Object.keys(FALLBACKS), ...before.keys(), ...after.keys()]);
  names.delete("default-src"); // It applies through the directives that fall back to it.
  return [...names].flatMap((name): AllowedByName[] => {
    const earlier = effectiveDirective(before, name);
    const later = effectiveDirective(after, name);
    if (earlier === undefined) return []; // Before, nothing was restricted.
    if (later === undefined) return [{ name, earlier, sources: undefined }];
    const sources =
      ownMember(FALLBACKS, name) === undefined
        ? addedKeywords(before, after, name)
        : addedSources(name, [earlier, before.get(earlier) ?? []], [later, after.get(later) ?? []], cache);
    return sources.length === 0 ? [] : [{ name, earlier, later, sources }];
  });
}

/** Finds the directive whose sources apply to this one. */
function effectiveDirective(directives: Directives, name: string): string | undefined {
  return [name, ...(ownMember(FALLBACKS, name) ?? [])].find((each) => directives.has(each));
}

/** Finds keywords added to directives that don't take sources. Any such keyword might allow more. */
function addedKeywords(before: Directives, after: Directives, name: string): readonly string[] {
  const [earlier, later] = [before.get(name) ?? [], after.get(name) ?? []];
  // Each keyword of `sandbox` permits something.
  if (name === "sandbox") return later.filter((word) => !earlier.includes(word));
  return earlier.join(" ") === later.join(" ") ? [] : later.length === 0 ? [name] : later;
}

type DirectiveSources = readonly [directive: string, sources: readonly string[]];

/** @param cache the results of earlier comparisons: most directives fall back to the same few lists. */
function addedSources(
  name: string,
  before: DirectiveSources,
  after: DirectiveSources,
  cache: Map<string, readonly string[]>,
): readonly string[] {
  const [earlier, later] = [effectiveSources(name, before), effectiveSources(name, after)];
  const key = `${earlier.join(" ")};${later.join(" ")}`; // No source has a space or a semicolon.
  const found = cache.get(key);
  if (found !== undefined) return found;
  const isCovered = coverage(earlier);
  const added = later.filter((source) => !isCovered(source));
  cache.set(key, added);
  return added;
}

/** Keywords that affect only scripts. A keyword that isn't in this list or in `STYLE_KEYWORDS` may affect anything. */
const SCRIPT_KEYWORDS = [
  "'strict-dynamic'",
  "'unsafe-eval'",
  "'wasm-unsafe-eval'",
  "'trusted-types-eval'",
  "'inline-speculation-rules'",
];
/** Keywords that affect only scripts and styles. */
const STYLE_KEYWORDS = ["'unsafe-inline'", "'unsafe-hashes'"];

/**
 * Returns the sources that have an effect on directive `name`. Browsers ignore 'none' next to other sources, and
 * 'unsafe-inline' next to a nonce or a hash. For scripts only, 'strict-dynamic' also makes them ignore 'unsafe-inline'
 * and addresses.
 */
function effectiveSources(name: string, [directive, sources]: DirectiveSources): readonly string[] {
  const isScript = name.startsWith("script-src");
  const isStyle = name.startsWith("style-src");
  // A worker counts as a script if a script directive applies.
  const isDynamic = (isScript || directive.startsWith("script-src")) && sources.includes("'strict-dynamic'");
  const isStrict = isDynamic || sources.some(isNonceOrHash);
  return sources.filter((source) => {
    if (source === "'none'" || source === "'report-sample'") return false;
    if (source === "'unsafe-inline'" && isStrict) return false;
    if (!source.startsWith("'") || source === "'self'") return !isDynamic;
    if (SCRIPT_KEYWORDS.includes(source)) return isScript;
    return isScript || isStyle || !(isNonceOrHash(source) || STYLE_KEYWORDS.includes(source));
  });
}
