import { allowsScript, CspError, parseCsp } from "./csp";
import type { LiteralUnion } from "../runtime/fields";
import { describe } from "../runtime/inputs";
import { parseThreshold } from "./detected";
import { isMalicious, type MaliciousOptions } from "./malicious";
import { toDetections, type Detections, type SeenScript } from "./snapshot";
import { LookupError, warn } from "../runtime/lookup";

export interface ScriptSourcesOptions extends MaliciousOptions {
  /** What becomes of scripts without a score: `"exclude"` lists them in `leftOut`. Default `"exclude"`. */
  readonly unscored?: LiteralUnion<"exclude" | "include">;
  /**
   * `"url"`: each script's address without its query, which a policy does not look at. `"host"`: the scheme and host
   * of the address, where no script of that host is left out; else its addresses. Default `"url"`.
   */
  readonly granularity?: LiteralUnion<"url" | "host">;
  /** Hosts whose pages the policy covers, in full. Scripts of other pages do not count in. Default: all. */
  readonly hosts?: string | readonly string[];
}

/** Why a script is not among the sources. */
export type LeftOutReason =
  /** Its score is lower than the threshold. */
  | "malicious"
  /** A threat list names its URL or domain, whatever its score. */
  | "reported"
  /** It has no score. */
  | "unscored"
  /** A source that allows it would allow a script that is left out: a policy cannot tell them apart. */
  | "indistinct"
  /** It has no address that a policy could name: inline, `data:`, `blob:` and the like. */
  | "unaddressable";

export interface LeftOutScript {
  readonly url: string;
  /** Hostname of the page it was seen on. */
  readonly host: string;
  readonly jsIntegrityScore?: number;
  readonly reason: LeftOutReason;
}

export interface ScriptSources {
  /** Sources for a `script-src`: sorted, each once. Empty where nothing is left, which a policy reads as 'none'. */
  readonly scriptSrc: string[];
  /** What is not covered, sorted by URL and host: to be looked at, as an enforced policy blocks it. */
  readonly leftOut: readonly LeftOutScript[];
}

/**
 * The sources of a policy from a committed snapshot. Nothing is sent, and the same snapshot gives the same list. What it left
 * out, and why, is a warning of the preview; so is a list that came out empty, beside which a policy allows `'self'` alone.
 *
 *     const { scriptSrc, leftOut } = scriptSources(readDetections("detections.json"));
 *     new PageShieldPolicy("checkout", { …, value: { scriptSrc: ["'self'", ...scriptSrc] } });
 *     export const notCovered = leftOut;
 *
 * @throws LookupError when the snapshot is none, is of a later version, holds no scripts, or an option is wrong.
 */
export function scriptSources(snapshot: Detections, options: ScriptSourcesOptions = {}): ScriptSources {
  const { unscored = "exclude", granularity = "url", hosts } = options;
  assertOneOf("unscored", unscored, ["exclude", "include"]);
  assertOneOf("granularity", granularity, ["url", "host"]);
  const threshold = parseThreshold(options.threshold);
  const { scripts } = toDetections(snapshot, "the snapshot");
  if (scripts === undefined) {
    throw new LookupError("the snapshot holds no scripts: write it again with --include scripts.");
  }

  // 1. What is judged by itself. A bad script counts wherever it was seen: the same address serves every page.
  const judged = scripts.map((script) => ({
    script,
    address: sourceAddress(script.url),
    reason: reasonToLeaveOut(script, threshold, unscored),
  }));
  const refused = judged.filter(({ reason }) => reason !== undefined);

  // 2. A source that allows the script and nothing that is refused.
  const covered = typeof hosts === "string" ? [hosts] : hosts;
  const scriptSrc = new Set<string>();
  const leftOut: LeftOutScript[] = [];
  const chosen = new Map<string, string | undefined>();
  for (const { script, address, reason } of judged) {
    if (covered !== undefined && !covered.includes(script.host)) continue;
    if (address !== undefined && reason === undefined) {
      if (!chosen.has(address)) {
        const candidates = granularity === "host" ? [new URL(address).origin, address] : [address];
        chosen.set(
          address,
          candidates.find((source) => !refused.some((bad) => sourceAllows(source, bad.address))),
        );
      }
      const source = chosen.get(address);
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
  for (const sentence of reviewWarnings(sources, covered)) warn(`scriptSources: ${sentence}`);
  return sources;
}

const SHOWN_SCRIPTS = 5;

/** What a reviewer has to know of the sources: an enforced policy blocks what is not among them. */
function reviewWarnings(
  { scriptSrc, leftOut }: ScriptSources,
  hosts: readonly string[] | undefined,
): string[] {
  const where = hosts === undefined ? "" : ` on ${hosts.join(", ")}`;
  const sentences: string[] = [];
  if (leftOut.length > 0) {
    const shown = leftOut.slice(0, SHOWN_SCRIPTS).map(({ url, reason }) => `${url} (${reason})`);
    const more =
      leftOut.length > shown.length ? `, and ${leftOut.length - shown.length} more in leftOut` : "";
    const scripts = leftOut.length === 1 ? "1 script" : `${leftOut.length} scripts`;
    sentences.push(
      `left out ${scripts} seen${where}, which an enforced policy blocks: ${shown.join(", ")}${more}.`,
    );
  }
  if (scriptSrc.length > 0) return sentences;
  const why = leftOut.length > 0 ? "no script is left" : `the snapshot holds no script seen${where}`;
  return [...sentences, `${why}, so a policy of "'self'" and this list allows the site's own scripts alone.`];
}

function reasonToLeaveOut(
  script: SeenScript,
  threshold: number,
  unscored: string,
): LeftOutReason | undefined {
  const malicious = isMalicious(script, { threshold });
  if (malicious === true) return "malicious";
  if (script.urlReportedMalicious === true || script.domainReportedMalicious === true) return "reported";
  return malicious === undefined && unscored === "exclude" ? "unscored" : undefined;
}

/** The URL as a source of a policy: no query, no fragment, and no character that would end the source. */
function sourceAddress(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, origin, pathname } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  const address =
    origin + pathname.replace(/[;,'\s]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  try {
    parseCsp({ scriptSrc: [address] });
    return address;
  } catch (error) {
    if (error instanceof CspError) return undefined;
    throw error;
  }
}

/** Both sides are written as addresses, so that what was encoded in one is encoded in the other. */
function sourceAllows(source: string, address: string | undefined): boolean {
  if (address === undefined) return false;
  const directives = new Map([["script-src", [source]]]);
  return allowsScript(directives, { url: address, host: new URL(address).hostname }) === true;
}

function assertOneOf(option: string, given: string, allowed: readonly string[]): void {
  if (allowed.includes(given)) return;
  throw new LookupError(
    `scriptSources: ${option} has to be ${allowed.map((word) => `"${word}"`).join(" or ")}; ${describe(given)} was given.`,
  );
}

function byUrl(a: LeftOutScript, b: LeftOutScript): number {
  return a.url < b.url ? -1 : a.url > b.url ? 1 : a.host < b.host ? -1 : a.host > b.host ? 1 : 0;
}
