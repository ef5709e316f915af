/** Whether a script counts as malicious. Doesn't need the Pulumi SDK, so commands can use it. */

/** The part of a script that `isMalicious` needs: its score. */
export interface ScoredScript {
  readonly jsIntegrityScore?: number | null | undefined;
}

/** Whether a script's score is below the threshold. Undefined if it has no score. */
export function isScoredBelow({ jsIntegrityScore }: ScoredScript, threshold: number): boolean | undefined {
  const score = jsIntegrityScore ?? undefined;
  return score === undefined ? undefined : score < threshold;
}

/** The threat list flags of a script. */
export interface Listed {
  readonly urlReportedMalicious?: boolean | undefined;
  readonly domainReportedMalicious?: boolean | undefined;
}

/** Whether the script's URL or domain is on a threat list. */
export function isReported({ urlReportedMalicious, domainReportedMalicious }: Listed): boolean {
  return urlReportedMalicious === true || domainReportedMalicious === true;
}

/** Whether the script's score is below the threshold, or the script is on a threat list. */
export function isThreat(script: ScoredScript & Listed, threshold: number): boolean {
  return isScoredBelow(script, threshold) === true || isReported(script);
}
