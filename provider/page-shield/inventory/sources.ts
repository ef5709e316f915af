import { LookupError, warn } from "../../runtime/lookup";
import { pluralize } from "../../runtime/values";
import { escapeForSource, sourceAllows } from "../csp";
import type { ScriptInventory } from "./file";
import { isApproved } from "./judge";
import { parsePattern } from "./script-pattern";

/** Options of `inventorySources`. */
export interface InventorySourcesOptions {
  /**
   * The day on which approvals must be valid: YYYY-MM-DD. Set it to keep a policy from changing on the day an approval
   * ends.
   *
   * @defaultValue today
   */
  readonly on?: string;
}

/** Result of `inventorySources`. */
export interface InventorySources {
  /** Sources for `script-src`, sorted and without duplicates. A policy treats an empty list as `'none'`. */
  readonly scriptSrc: string[];
  /**
   * Scripts that the sources leave out: those not approved on that day, and those without a URL that a policy could
   * name.
   */
  readonly leftOut: readonly string[];
}

/**
 * Turns the approved entries of a script inventory into sources for a policy's `script-src`. Sends no request.
 *
 * The preview warns about entries that were left out. A policy ignores queries, so an entry with one allows the URL with
 * any query.
 *
 * @example A policy that allows what was approved
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
 * @see https://developers.cloudflare.com/page-shield/policies/csp-directives/
 */
export function inventorySources(
  inventory: ScriptInventory,
  { on }: InventorySourcesOptions = {},
): InventorySources {
  const now = on === undefined ? new Date() : new Date(`${on}T12:00:00Z`);
  if (Number.isNaN(now.getTime()))
    throw new LookupError(`inventorySources: on must be a date, as YYYY-MM-DD, not ${JSON.stringify(on)}.`);
  const scriptSrc = new Set<string>();
  const leftOut: string[] = [];
  for (const entry of inventory.entries) {
    const source = isApproved(entry, now) ? sourceOf(entry.script) : undefined;
    if (source === undefined) leftOut.push(entry.script);
    else scriptSrc.add(source);
  }
  const sources = [...scriptSrc].sort();
  const allowed = leftOut.filter((script) => allowsEntry(sources, script));
  const blocked = leftOut.filter((script) => !allowed.includes(script));
  if (blocked.length > 0) {
    warn(
      `inventorySources: left out ${pluralize(blocked.length, "unapproved script")} of ${inventory.file}. An enforced policy will block them: ${firstOf(blocked)}.`,
    );
  }
  if (allowed.length > 0) {
    warn(
      `inventorySources: a policy will allow ${pluralize(allowed.length, "script")} of ${inventory.file} without an approval, because an approved host or folder covers them: ${firstOf(allowed)}.`,
    );
  }
  return { scriptSrc: sources, leftOut };
}

function allowsEntry(sources: readonly string[], script: string): boolean {
  const { kind, text, address } = parsePattern(script);
  if (address === undefined || kind !== "url") return false;
  return sources.some((source) => sourceAllows(source, escapeForSource(text.replace(/\?.*$/s, ""))));
}

function firstOf(scripts: readonly string[]): string {
  const more = scripts.length - SHOWN_ENTRIES;
  return `${scripts.slice(0, SHOWN_ENTRIES).join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

const SHOWN_ENTRIES = 5;

/** Converts an entry to a source. A source that ends in a slash allows everything below. */
function sourceOf(script: string): string | undefined {
  const { kind, text, address } = parsePattern(script);
  if (address === undefined) return undefined;
  const source = escapeForSource(text.replace(/\?.*$/s, ""));
  if (kind === "url") return source;
  return kind === "host" ? source.replace(/\/\*$/, "") : source.slice(0, -1);
}
