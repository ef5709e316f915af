/** Whether a script counts as malicious. Doesn't need the Pulumi SDK, so commands can use it. */

import { ownMember } from "../basics/json";

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

/** Cloudflare calls a script with a lower score malicious: https://developers.cloudflare.com/client-side-security/detection/monitor-connections-scripts/ */
export const MALICIOUS_BELOW = 10;

export type Threat = "malicious" | "suspicious";

/** Classifies a script: malicious with a score below 10 or on a threat list, suspicious with another score below the threshold. */
export function threatOf(script: ScoredScript & Listed, threshold: number): Threat | undefined {
  const isBelow = (limit: number): boolean => isScoredBelow(script, Math.min(limit, threshold)) === true;
  if (isReported(script) || isBelow(MALICIOUS_BELOW)) return "malicious";
  return isBelow(threshold) ? "suspicious" : undefined;
}

/** Returns what to show after a URL: ` (suspicious, score 12)`. Empty unless the record has its score. */
export function threatMark(scores: Readonly<Record<string, number>> = {}, url = ""): string {
  const score = ownMember(scores, url);
  if (score === undefined) return "";
  return ` (${score < MALICIOUS_BELOW ? "malicious" : "suspicious"}, score ${score})`;
}
