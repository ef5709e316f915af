import { ID } from "../runtime/fields";
import { ask, LookupError, readArgs, unlessSkipped, type LookupOptions } from "../runtime/lookup";
import { applying, pluralize } from "../basics/words";
import type { DetectedFilters, Script } from "./records";
import { isReported, isScoredBelow, MALICIOUS_BELOW, threatOf, type ScoredScript } from "./threat";
import { parseThreshold } from "./threshold";
import { filterShape, listDetected, SCRIPTS } from "./wire";

export type { ScoredScript } from "./threat";

/** The threshold below which a script is found. */
export interface MaliciousOptions {
  /**
   * Scripts with a score below this, from 1 to 100, are found. Messages call those below 10 malicious, as Cloudflare
   * does, and the others suspicious. `10` finds only malicious ones.
   *
   * @defaultValue `50`
   */
  readonly threshold?: number;
}

/**
 * Whether a script's score is below the threshold.
 *
 * Returns undefined if the script has no score, for example on plans without scores or before its first analysis. That
 * doesn't mean it's harmless. Threat lists aren't considered; see `urlReportedMalicious` and `domainReportedMalicious`.
 *
 * @example Find malicious scripts
 * ```ts
 * import { getScripts, isMalicious } from "pulumi-edgeguard";
 *
 * const scripts = getScripts({ zoneId: "0da42c8d2132a9ddaf714f9e7c920711" });
 *
 * export const malicious = scripts.then(({ items }) =>
 *   items.filter((script) => isMalicious(script) === true).map(({ url }) => url),
 * );
 * ```
 *
 * @throws `LookupError` if the threshold isn't a number from 1 to 100.
 * @see https://developers.cloudflare.com/client-side-security/how-it-works/malicious-script-detection/
 */
export function isMalicious(script: ScoredScript, options: MaliciousOptions = {}): boolean | undefined {
  return isScoredBelow(script, parseThreshold(options.threshold));
}

/** Arguments of `assertNoMaliciousScripts`. */
export interface AssertNoMaliciousArgs extends DetectedFilters, MaliciousOptions {
  /** The zone's ID (32 hex digits). */
  readonly zoneId: string;
}

/** Thrown if a zone has malicious scripts. The message lists them. */
export class MaliciousScriptsError extends LookupError {
  override readonly name = "MaliciousScriptsError";

  constructor(
    message: string,
    /** The malicious scripts. */
    readonly scripts: readonly Script[],
  ) {
    super(message);
  }
}

/**
 * Fails the preview and the update if a zone has scripts with a score below the threshold or on a threat list, and lists
 * them.
 *
 * Checks all active scripts, including duplicates and `/cdn-cgi/` paths; `status`, `hosts` and `filters` change that.
 * Scripts without a score can't be checked; a warning says how many there are. Without credentials, an update fails and
 * a preview warns. To stop a program before it declares any resources, await the assertion.
 *
 * @example Stop the program before it declares a policy
 * ```ts
 * import { assertNoMaliciousScripts, PageShieldPolicy } from "pulumi-edgeguard";
 *
 * const zoneId = "0da42c8d2132a9ddaf714f9e7c920711";
 *
 * export = async () => {
 *   await assertNoMaliciousScripts({ zoneId, status: ["active", "infrequent"] });
 *   new PageShieldPolicy("checkout", {
 *     zoneId,
 *     description: "Checkout: only own scripts",
 *     action: "allow",
 *     expression: 'http.host eq "checkout.shop.example"',
 *     value: "script-src 'self'",
 *   });
 * };
 * ```
 *
 * @throws `MaliciousScriptsError` with the list of scripts, worst first. In a program, the engine shows its message.
 * @throws If an argument is invalid, the token lacks Page Shield Read, or the zone's plan doesn't include scripts.
 * @see https://developers.cloudflare.com/client-side-security/detection/review-malicious-scripts/
 * @see `GET /zones/{zone_id}/page_shield/scripts`
 */
export function assertNoMaliciousScripts(
  args: AssertNoMaliciousArgs,
  opts: LookupOptions = {},
): Promise<void> {
  const what = "assertNoMaliciousScripts";
  return ask(opts, async (host) => {
    const { threshold, ...listArgs } = args;
    const below = parseThreshold(threshold);
    const wanted = readArgs(what, { zoneId: ID.zone, ...filterShape }, listArgs);
    const filters = { ...SCRIPTS.includeAll, ...wanted.filters };
    const read = (): Promise<Script[]> => listDetected(host.api, SCRIPTS, { ...wanted, filters });
    const scripts = await unlessSkipped(host, what, read, undefined);
    if (scripts === undefined) return;
    const malicious = scripts.filter((script) => threatOf(script, below) !== undefined);
    if (malicious.length > 0)
      throw new MaliciousScriptsError(maliciousMessage(wanted.zoneId, below, malicious), malicious);
    const unscored = scripts.filter((script) => isMalicious(script) === undefined).length;
    if (unscored > 0) {
      host.say.warn(
        `${what}: couldn't check ${unscored} of ${pluralize(scripts.length, "script")} in zone ${wanted.zoneId}, because ${unscored === 1 ? "it has" : "they have"} no score. Cloudflare scores scripts only on some plans, and only after it has analyzed a script for the first time.`,
      );
    }
  });
}

function maliciousMessage(zone: string, below: number, scripts: readonly Script[]): string {
  const lines = scripts
    .map((script) => {
      const { url, host, firstPageUrl, jsIntegrityScore } = script;
      const seen = firstPageUrl === undefined ? "" : `, first seen on ${firstPageUrl}`;
      const why = applying(
        threatOf(script, below),
        jsIntegrityScore !== undefined && `score ${jsIntegrityScore}`,
        isReported(script) && "on a threat list",
      );
      return { score: jsIntegrityScore ?? 0, text: `${why.join(", ")}: ${url} on ${host}${seen}` };
    })
    .sort((a, b) => a.score - b.score || (a.text < b.text ? -1 : 1))
    .map(({ text }) => `  ${text}`);
  const [scoring, are, them] =
    scripts.length === 1 ? ["script that scores", "is", "it"] : ["scripts that score", "are", "them"];
  return `zone ${zone} has ${scripts.length} ${scoring} below ${below} or ${are} on a threat list. Remove ${them} from the pages, or block ${them} with an \`allow\` policy that doesn't list ${them}. To find only malicious scripts, set threshold: ${MALICIOUS_BELOW}.\n${lines.join("\n")}`;
}
