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
  const sources = new Set<string>();
  const unapproved: ParsedEntry[] = [];
  const unnamed: ParsedEntry[] = [];
  const leftOut: string[] = [];
  for (const entry of inventory.entries) {
    const { script } = entry;
    const pattern = parsePattern(script);
    const source = sourceOf(pattern);
    const approved = isApproved(entry, now);
    if (approved && source !== undefined) {
      sources.add(source);
      continue;
    }
    leftOut.push(script);
    (approved ? unnamed : unapproved).push({ script, pattern });
  }
  const isCovered = coverage(sources);
  const isAllowed = ({ pattern }: ParsedEntry): boolean => {
    const source = coveringSource(pattern);
    return source !== undefined && isCovered(source);
  };
  const isBlocked = (each: ParsedEntry): boolean => !isAllowed(each);
  const say = (found: readonly ParsedEntry[], sentence: (scripts: string) => string): void => {
    if (found.length > 0)
      warn(
        `inventorySources: ${sentence(
          firstFew(
            found.map(({ script }) => script),
            SHOWN_ENTRIES,
          ),
        )}.`,
      );
  };
  const { file } = inventory;
  const blocked = unapproved.filter(isBlocked);
  say(
    blocked,
    (scripts) =>
      `left out ${pluralize(blocked.length, "unapproved script")} in ${file}. An enforced policy will block ${blocked.length === 1 ? "it" : "them"}: ${scripts}`,
  );
  const allowed = unapproved.filter(isAllowed);
  say(
    allowed,
    (scripts) =>
      `a policy will allow ${pluralize(allowed.length, "script")} in ${file} without an approval, because an approved host or path covers ${allowed.length === 1 ? "it" : "them"}: ${scripts}`,
  );
  const nameless = unnamed.filter(isBlocked);
  say(
    nameless,
    (scripts) =>
      `left out ${pluralize(nameless.length, "approved script")} in ${file} that a policy can't allow individually: a source that ends in a slash allows everything below it, and only https:// and http:// URLs can be sources. An enforced policy will block ${nameless.length === 1 ? "it" : "them"}, unless you approve the host or path: ${scripts}`,
  );
  return { scriptSrc: [...sources].sort(), leftOut };
}

interface ParsedEntry {
  readonly script: string;
  readonly pattern: ScriptPattern;
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
