import { LookupError, warn } from "../../runtime/lookup";
import { firstFew, pluralize } from "../../basics/words";
import { escapeForSource } from "../csp";
import { coverage } from "../source-coverage";
import { isDate, type ScriptInventory } from "./file";
import { isApproved } from "./judge";
import { parsePattern, type ScriptPattern } from "./script-pattern";

/** Options of `inventorySources`. */
export interface InventorySourcesOptions {
  /**
   * The day on which approvals must be valid: YYYY-MM-DD. Set it to keep a policy from changing when an approval
   * expires.
   *
   * @defaultValue today
   */
  readonly on?: string;
}

/** The result of `inventorySources`. */
export interface InventorySources {
  /** Sources for `script-src`, sorted and without duplicates. A policy treats an empty list as `'none'`. */
  readonly scriptSrc: string[];
  /** Scripts that the sources leave out: those not approved on that day, and those whose URL can't be a source. */
  readonly leftOut: readonly string[];
}

/**
 * Turns the approved entries of a script inventory into sources for a policy's `script-src`. Sends no requests.
 *
 * The preview warns about entries that were left out. A policy ignores queries, so an entry with a query allows the URL
 * with any query. An exact URL whose path ends in a slash is left out, because a policy would allow everything below
 * it.
 *
 * @example Allow only approved scripts
 * ```ts
 * import { inventorySources, PageShieldPolicy, readScriptInventory } from "pulumi-edgeguard";
 *
 * const { scriptSrc } = inventorySources(readScriptInventory("script-inventory.yaml"));
 *
 * new PageShieldPolicy("checkout", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   description: "Checkout: approved scripts",
 *   action: "log",
 *   expression: 'http.host eq "checkout.shop.example"',
 *   value: { scriptSrc: ["'self'", ...scriptSrc] },
 * });
 * ```
 *
 * @throws `LookupError` if `on` isn't a date.
 * @see https://developers.cloudflare.com/client-side-security/rules/csp-directives/
 */
export function inventorySources(
  inventory: ScriptInventory,
  { on }: InventorySourcesOptions = {},
): InventorySources {
  if (on !== undefined && !isDate(on))
    throw new LookupError(
      `inventorySources: \`on\` must be a date in YYYY-MM-DD format, not ${JSON.stringify(on)}.`,
    );
  const now = on === undefined ? new Date() : new Date(`${on}T00:00:00Z`);
  const { file, entries } = inventory;
  const all = entries.map((entry): ParsedEntry => {
    const pattern = parsePattern(entry.script);
    const source = isApproved(entry, now) ? sourceOf(pattern) : undefined;
    return { script: entry.script, pattern, isUnapproved: !isApproved(entry, now), source };
  });
  const sources = new Set(all.flatMap(({ source }) => source ?? []));
  const left = all.filter(({ source }) => source === undefined);
  const isCovered = coverage(sources);
  const isAllowed = ({ pattern }: ParsedEntry): boolean => isCovered(coveringSource(pattern) ?? "");
  const say = (found: readonly ParsedEntry[], noun: string, sentence: Sentence): void => {
    const shown = firstFew(
      found.map(({ script }) => script),
      SHOWN_ENTRIES,
    );
    const text = sentence(`${pluralize(found.length, noun)} in ${file}`, found.length === 1 ? "it" : "them");
    if (found.length > 0) warn(`inventorySources: ${text}: ${shown}.`);
  };
  const unapproved = left.filter((each) => each.isUnapproved);
  say(
    unapproved.filter((each) => !isAllowed(each)),
    "unapproved script",
    (scripts, them) => `left out ${scripts}. An enforced policy will block ${them}`,
  );
  say(
    unapproved.filter(isAllowed),
    "script",
    (scripts, them) =>
      `a policy will allow ${scripts} without an approval, because an approved host or path covers ${them}`,
  );
  say(
    left.filter((each) => !each.isUnapproved && !isAllowed(each)),
    "approved script",
    (scripts, them) =>
      `left out ${scripts} that a policy can't allow individually: a source that ends in a slash allows everything below it, and only https:// and http:// URLs can be sources. An enforced policy will block ${them}, unless you approve the host or path`,
  );
  return { scriptSrc: [...sources].sort(), leftOut: left.map(({ script }) => script) };
}

type Sentence = (scripts: string, them: string) => string;

interface ParsedEntry {
  readonly script: string;
  readonly pattern: ScriptPattern;
  readonly isUnapproved: boolean;
  /** The source that allows the entry's scripts. Undefined if it isn't approved, or no source allows only these. */
  readonly source: string | undefined;
}

const SHOWN_ENTRIES = 5;

/**
 * Converts a pattern to a source that allows its scripts and no others. Undefined if there's none: a source that ends in
 * a slash allows everything below it.
 */
function sourceOf(pattern: ScriptPattern): string | undefined {
  const source = coveringSource(pattern);
  return pattern.kind === "url" && source?.endsWith("/") === true ? undefined : source;
}

/** Converts a pattern to the narrowest source that allows its scripts. Undefined if the URL has no host. */
function coveringSource({ kind, text, address }: ScriptPattern): string | undefined {
  if (address === undefined) return undefined;
  const source = escapeForSource(withoutQuery(text));
  if (kind === "host") return source.replace(/\/\*$/, "");
  return kind === "folder" ? source.slice(0, -1) : source;
}

function withoutQuery(text: string): string {
  return text.replace(/\?.*$/s, "");
}
