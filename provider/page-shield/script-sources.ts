import { z } from "zod";
import { compareText, firstFew, pluralize } from "../basics/words";
import { parseUrl } from "../basics/url";
import { coversAddress, CspError, escapeForSource, parseAddress, parseCsp } from "./csp";
import type { LiteralUnion } from "../runtime/fields";
import type { MaliciousOptions } from "./malicious";
import type { ScriptInventory } from "./inventory/file";
import { approver } from "./inventory/judge";
import { isReported, isScoredBelow, MALICIOUS_BELOW, type ScoredScript } from "./threat";
import { parseThreshold } from "./threshold";
import { omitAbsent } from "../basics/json";
import { readArgs, warn } from "../runtime/lookup";

/** The part of a script that `scriptSources` needs. A script from `getScripts` has it, and so has its JSON. */
export interface SeenScript extends ScoredScript {
  /** The script's URL. */
  readonly url: string;
  /** The hostname of the page on which the script was seen. */
  readonly host: string;
  /** Whether the script's URL is on a threat list. */
  readonly urlReportedMalicious?: boolean;
  /** Whether the script's domain is on a threat list. */
  readonly domainReportedMalicious?: boolean;
}

const shape = {
  scripts: z.array(
    z.looseObject({
      url: z.string(),
      host: z.string(),
      jsIntegrityScore: z.number().nullish(),
      urlReportedMalicious: z.boolean().exactOptional(),
      domainReportedMalicious: z.boolean().exactOptional(),
    }),
  ),
  unscored: z.enum(["exclude", "include"]).default("exclude"),
  granularity: z.enum(["url", "host"]).default("url"),
};

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
  /** Its score is below the threshold and below 10. */
  | "malicious"
  /** Its score is below the threshold, but not below 10. */
  | "suspicious"
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
 * Turns scripts that Page Shield has seen into sources for a policy's `script-src`. Sends no requests. The same scripts
 * always result in the same sources.
 *
 * The scripts are those of `getScripts`, or the JSON of an earlier result: a policy that's built from a committed file
 * changes only when the file does. To have each script approved first, use `inventorySources` instead.
 *
 * The preview warns about scripts that were left out and says why. It also warns if no source remains, because a policy
 * then allows only `'self'`.
 *
 * @example Build a policy from what was seen
 * ```ts
 * import { getScripts, PageShieldPolicy, scriptSources } from "pulumi-edgeguard";
 *
 * const zoneId = "0da42c8d2132a9ddaf714f9e7c920711";
 * const scripts = getScripts({ zoneId, status: ["active", "infrequent"] });
 *
 * new PageShieldPolicy("checkout", {
 *   zoneId,
 *   description: "Checkout: scripts that were seen",
 *   action: "log",
 *   expression: 'http.host eq "checkout.shop.example"',
 *   value: { scriptSrc: scripts.then(({ items }) => ["'self'", ...scriptSources(items).scriptSrc]) },
 * });
 * ```
 *
 * @throws `LookupError` if the scripts or an option are invalid.
 * @see https://developers.cloudflare.com/client-side-security/rules/csp-directives/
 */
export function scriptSources(
  scripts: readonly SeenScript[],
  options: ScriptSourcesOptions = {},
): ScriptSources {
  const { hosts, inventory } = options;
  const threshold = parseThreshold(options.threshold);
  const { unscored, granularity } = readArgs("scriptSources", shape, {
    scripts,
    unscored: options.unscored,
    granularity: options.granularity,
  });
  const isApproved = inventory === undefined ? () => true : approver(inventory, new Date());

  // 1. Judge each script. A malicious script counts wherever it was seen, because the same URL serves every page.
  const judged = scripts.map((script) => ({
    script,
    address: sourceAddress(script.url),
    reason:
      reasonToLeaveOut(script, threshold, unscored) ?? (isApproved(script.url) ? undefined : "unapproved"),
  }));
  const rejected = judged.flatMap(
    ({ address, reason }) => (reason === undefined ? undefined : parseAddress(address ?? "")) ?? [],
  );
  const allowsRejected = (source: string): boolean => {
    const wide = parseAddress(source);
    return wide !== undefined && rejected.some((narrow) => coversAddress(wide, narrow));
  };

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
          candidates.find((source) => !allowsRejected(source)),
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
      ...omitAbsent({ jsIntegrityScore }),
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
    const named = leftOut.map(({ url, reason, jsIntegrityScore: score }) =>
      reason === "malicious" || reason === "suspicious"
        ? `${url} (${reason}, score ${score ?? ""})`
        : `${url} (${reason})`,
    );
    warnings.push(
      `left out ${pluralize(leftOut.length, "script")}${where}. An enforced policy will block ${leftOut.length === 1 ? "it" : "them"}: ${firstFew(named, SHOWN_SCRIPTS)}.`,
    );
  }
  if (scriptSrc.length > 0) return warnings;
  const reason = leftOut.length > 0 ? "no source is left" : `there are no scripts${where}`;
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
  const isLow = isScoredBelow(script, threshold);
  if (isLow === true) return isScoredBelow(script, MALICIOUS_BELOW) === true ? "malicious" : "suspicious";
  if (isReported(script)) return "reported";
  return isLow === undefined && unscored === "exclude" ? "unscored" : undefined;
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

function byUrl(a: LeftOutScript, b: LeftOutScript): number {
  return compareText(a.url, b.url) || compareText(a.host, b.host);
}
