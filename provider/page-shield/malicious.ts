import { zoneId } from "../runtime/fields";
import { ask, LookupError, readArgs, warnsInPreview, type LookupOptions } from "../runtime/lookup";
import { filterShape, listDetected, SCRIPTS, parseThreshold } from "./detected";
import type { DetectedFilters, Script } from "./records";

export interface MaliciousOptions {
  /** Scores lower than this are malicious, 1 to 100. Default 50. */
  readonly threshold?: number;
}

/** What the classification goes by. */
export interface ScoredScript {
  readonly jsIntegrityScore?: number | null | undefined;
}

/**
 * Whether a script's score is strictly lower than the threshold. Undefined where it has no
 * score, as on plans without scores or before its first analysis: nobody knows, which is not "not malicious".
 * What threat lists say is another matter: `urlReportedMalicious`, `domainReportedMalicious`.
 *
 * @throws LookupError when the threshold is no number from 1 to 100.
 */
export function isMalicious(script: ScoredScript, options: MaliciousOptions = {}): boolean | undefined {
  const below = parseThreshold(options.threshold);
  const score = script.jsIntegrityScore ?? undefined;
  return score === undefined ? undefined : score < below;
}

export interface AssertNoMaliciousArgs extends DetectedFilters, MaliciousOptions {
  /** The zone, 32 hexadecimal digits. */
  readonly zoneId: string;
}

/** A zone has malicious scripts. The message names each of them. */
export class MaliciousScriptsError extends LookupError {
  override readonly name = "MaliciousScriptsError";

  constructor(
    message: string,
    readonly scripts: readonly Script[],
  ) {
    super(message);
  }
}

/**
 * Fails where the zone has a script whose score is lower than the threshold; previews fail too, with the list. Reads
 * all active scripts, duplicates and `/cdn-cgi/` paths among them; `status`, `hosts` and `filters` narrow or widen that.
 * Scripts without a score cannot be judged: they are counted in a warning. Where credentials are missing, an up fails
 * and a preview warns. To stop a program before it declares anything, await it:
 *
 *     export = async () => {
 *       await assertNoMaliciousScripts({ zoneId, status: ["active", "infrequent"] });
 *       new PageShieldPolicy(…);
 *     };
 *
 * @throws MaliciousScriptsError with the list, worst first; in a program as a sentence of the engine.
 * @throws when an argument is wrong, the token lacks Page Shield Read, or the plan lacks scripts.
 */
export function assertNoMaliciousScripts(
  args: AssertNoMaliciousArgs,
  opts: LookupOptions = {},
): Promise<void> {
  const what = "assertNoMaliciousScripts";
  return ask(opts, async (host) => {
    const { threshold, ...listArgs } = args;
    const below = parseThreshold(threshold);
    const wanted = readArgs(what, { zoneId, ...filterShape }, listArgs);
    let scripts: readonly Script[];
    try {
      const filters = { ...SCRIPTS.includeAll, ...wanted.filters };
      scripts = (await listDetected(host, SCRIPTS, { ...wanted, filters })).items;
    } catch (error) {
      if (warnsInPreview(host, what, error)) return;
      throw error;
    }

    const malicious = scripts.filter((script) => isMalicious(script, { threshold: below }) === true);
    if (malicious.length > 0)
      throw new MaliciousScriptsError(maliciousMessage(wanted.zoneId, below, malicious), malicious);
    const unscored = scripts.filter((script) => isMalicious(script) === undefined).length;
    if (unscored > 0) {
      host.say.warn(
        `${what}: ${unscored} of ${scripts.length} scripts of zone ${wanted.zoneId} have no score and could not be judged; ` +
          "scores come with the plan, and with a script's first analysis.",
      );
    }
  });
}

function maliciousMessage(zone: string, below: number, scripts: readonly Script[]): string {
  const lines = scripts
    .map(({ url, host, firstPageUrl, jsIntegrityScore = 0 }) => {
      const seen = firstPageUrl === undefined ? "" : `, first seen on ${firstPageUrl}`;
      return { score: jsIntegrityScore, text: `score ${jsIntegrityScore}: ${url} on ${host}${seen}` };
    })
    .sort((a, b) => a.score - b.score || (a.text < b.text ? -1 : 1))
    .map(({ text }) => `  ${text}`);
  const some = scripts.length === 1 ? "a malicious script" : `${scripts.length} malicious scripts`;
  return (
    `zone ${zone} has ${some}, with a score lower than ${below}. Remove them from the pages, or keep browsers from loading ` +
    `them with an allow policy; raise or lower the threshold only if the scores are misjudged.\n${lines.join("\n")}`
  );
}
