import { parseUrl } from "../api/url";
import { CspError, escapeForSource, parseCsp, sourceAllows } from "./csp";
import type { LiteralUnion } from "../runtime/fields";
import { describe } from "../runtime/inputs";
import { isReported } from "./detected";
import { parseThreshold } from "./threshold";
import { isMalicious, type MaliciousOptions } from "./malicious";
import type { ScriptInventory } from "./inventory/file";
import { approver } from "./inventory/judge";
import { toDetections, type Detections, type SeenScript } from "./snapshot";
import { LookupError, warn } from "../runtime/lookup";

/** Options of `scriptSources`. */
export interface ScriptSourcesOptions extends MaliciousOptions {
  /**
   * What to do with scripts without a score: `"include"` allows them, `"exclude"` lists them in `leftOut`.
   *
   * @defaultValue `"exclude"`
   */
  readonly unscored?: LiteralUnion<"exclude" | "include">;
  /**
   * How specific the sources are. `"url"` returns each script's URL without its query, which policies ignore. `"host"`
   * returns only the scheme and host, unless a script from that host is left out; then it returns the URLs.
   *
   * @defaultValue `"url"`
   */
  readonly granularity?: LiteralUnion<"url" | "host">;
  /**
   * A script inventory from `readScriptInventory`. Only scripts that it approves today are allowed; the others are left
   * out.
   *
   * @defaultValue none: every script that was seen
   */
  readonly inventory?: ScriptInventory;
  /**
   * The full names of the hosts whose pages the policy covers. Scripts on other pages are ignored. By default, all
   * hosts.
   */
  readonly hosts?: string | readonly string[];
}

/** Why a script was left out. */
export type LeftOutReason =
  /** Its score is below the threshold. */
  | "malicious"
  /** A threat list names its URL or domain, regardless of its score. */
  | "reported"
  /** It has no score. */
  | "unscored"
  /** The inventory doesn't approve it. */
  | "unapproved"
  /** Any source that allows it would also allow a script that's left out: a policy can't distinguish them. */
  | "indistinct"
  /** It has no URL that a policy could name, such as an inline, `data:` or `blob:` script. */
  | "unaddressable";

/** A script that the sources don't allow. */
export interface LeftOutScript {
  /** The script's URL. */
  readonly url: string;
  /** The hostname of the page on which the script was seen. */
  readonly host: string;
  /** The script's score, if it has one. */
  readonly jsIntegrityScore?: number;
  /** Why the script was left out. */
  readonly reason: LeftOutReason;
}

/** The result of `scriptSources`. */
export interface ScriptSources {
  /** Sources for `script-src`, sorted and without duplicates. A policy treats an empty list as `'none'`. */
  readonly scriptSrc: string[];
  /** Scripts that the sources don't allow, sorted by URL and host. Review them: an enforced policy blocks them. */
  readonly leftOut: readonly LeftOutScript[];
}

/**
 * Turns saved detections into sources for a policy's `script-src`. Sends no requests. The same detections always result
 * in the same sources.
 *
 * The preview warns about scripts that were left out and says why. It also warns if no source remains, because a policy
 * then allows only `'self'`.
 *
 * @example Build a policy from saved detections
 * ```ts
 * import { PageShieldPolicy, readDetections, scriptSources } from "pulumi-edgeguard";
 *
 * const { scriptSrc, leftOut } = scriptSources(readDetections("detections.json"));
 *
 * new PageShieldPolicy("checkout", {
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   description: "Checkout: scripts that were seen",
 *   action: "log",
 *   expression: 'http.host eq "checkout.shop.example"',
 *   value: { scriptSrc: ["'self'", ...scriptSrc] },
 * });
 *
 * export const notCovered = leftOut;
 * ```
 *
 * @throws `LookupError` if the detections are invalid, were saved by a later version or contain no scripts, or if an
 * option is invalid.
 * @see https://developers.cloudflare.com/page-shield/policies/csp-directives/
 */
export function scriptSources(detections: Detections, options: ScriptSourcesOptions = {}): ScriptSources {
  const { unscored = "exclude", granularity = "url", hosts } = options;
  assertOneOf("unscored", unscored, ["exclude", "include"]);
  assertOneOf("granularity", granularity, ["url", "host"]);
  const threshold = parseThreshold(options.threshold);
  const { scripts } = toDetections(detections, 'the argument "detections"');
  if (scripts === undefined) {
    throw new LookupError("the detections contain no scripts. Save them again with --include scripts.");
  }

  const isApproved = options.inventory === undefined ? () => true : approver(options.inventory, new Date());

  // 1. Judge each script. A malicious script counts wherever it was seen, because the same URL serves every page.
  const judged = scripts.map((script) => ({
    script,
    address: sourceAddress(script.url),
    reason:
      reasonToLeaveOut(script, threshold, unscored) ?? (isApproved(script.url) ? undefined : "unapproved"),
  }));
  const rejected = judged.filter(({ reason }) => reason !== undefined);

  // 2. Choose a source that allows the script but no rejected one.
  const covered = typeof hosts === "string" ? [hosts] : hosts;
  const scriptSrc = new Set<string>();
  const leftOut: LeftOutScript[] = [];
  const sourceByAddress = new Map<string, string | undefined>();
  for (const { script, address, reason } of judged) {
    if (covered !== undefined && !covered.includes(script.host)) continue;
    if (address !== undefined && reason === undefined) {
      if (!sourceByAddress.has(address)) {
        const candidates = granularity === "host" ? [new URL(address).origin, address] : [address];
        sourceByAddress.set(
          address,
          candidates.find((source) => !rejected.some((other) => sourceAllows(source, other.address))),
        );
      }
      const source = sourceByAddress.get(address);
      if (source !== undefined) {
        scriptSrc.add(source);
        continue;
      }
    }
    const { url, host, jsIntegrityScore } = script;
    leftOut.push({
      url,
      host,
      ...(jsIntegrityScore === undefined ? {} : { jsIntegrityScore }),
      reason: reason ?? (address === undefined ? "unaddressable" : "indistinct"),
    });
  }
  const sources = { scriptSrc: [...scriptSrc].sort(), leftOut: leftOut.sort(byUrl) };
  for (const warning of reviewWarnings(sources, covered)) warn(`scriptSources: ${warning}`);
  return sources;
}

const SHOWN_SCRIPTS = 5;

/** Warns about scripts that the sources don't allow, because an enforced policy blocks them. */
function reviewWarnings(
  { scriptSrc, leftOut }: ScriptSources,
  hosts: readonly string[] | undefined,
): string[] {
  const where = hosts === undefined ? "" : ` seen on ${hosts.join(", ")}`;
  const warnings: string[] = [];
  if (leftOut.length > 0) {
    const shown = leftOut.slice(0, SHOWN_SCRIPTS).map(({ url, reason }) => `${url} (${reason})`);
    const more =
      leftOut.length > shown.length ? `, and ${leftOut.length - shown.length} more in leftOut` : "";
    const scripts = leftOut.length === 1 ? "1 script" : `${leftOut.length} scripts`;
    warnings.push(
      `left out ${scripts}${where}. An enforced policy will block ${leftOut.length === 1 ? "it" : "them"}: ${shown.join(", ")}${more}.`,
    );
  }
  if (scriptSrc.length > 0) return warnings;
  const reason = leftOut.length > 0 ? "no source is left" : `the detections contain no scripts${where}`;
  return [
    ...warnings,
    `${reason}, so a policy with 'self' and this list allows only the site's own scripts.`,
  ];
}

function reasonToLeaveOut(
  script: SeenScript,
  threshold: number,
  unscored: string,
): LeftOutReason | undefined {
  const malicious = isMalicious(script, { threshold });
  if (malicious === true) return "malicious";
  if (isReported(script)) return "reported";
  return malicious === undefined && unscored === "exclude" ? "unscored" : undefined;
}

/** Converts a URL to a source. Removes the query and fragment, and encodes characters that would end the source. */
function sourceAddress(url: string): string | undefined {
  const { protocol = "", origin = "", pathname = "" } = parseUrl(url) ?? {};
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  const address = origin + escapeForSource(pathname);
  try {
    parseCsp({ scriptSrc: [address] });
    return address;
  } catch (error) {
    if (error instanceof CspError) return undefined;
    throw error;
  }
}

function assertOneOf(option: string, given: string, allowed: readonly string[]): void {
  if (allowed.includes(given)) return;
  throw new LookupError(
    `scriptSources: ${option} must be ${allowed.map((word) => `"${word}"`).join(" or ")}, not ${describe(given)}.`,
  );
}

function byUrl(a: LeftOutScript, b: LeftOutScript): number {
  return a.url < b.url ? -1 : a.url > b.url ? 1 : a.host < b.host ? -1 : a.host > b.host ? 1 : 0;
}
