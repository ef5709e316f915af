import { createHash, randomUUID } from "node:crypto";

/** The IDs of managed rulesets: https://developers.cloudflare.com/waf/managed-rules/ */
export const managedRulesets = {
  managed: "efb7b8c949ac4650a09736fc376e9aee",
  owasp: "4814384a9e5d4991b9815dcfc25d2f1f",
  exposedCredentials: "c2e184081120413c86c3ab7e14069605",
  free: "77454fe2d30c4220b5701f6fdfb893ba",
  /** https://developers.cloudflare.com/waf/managed-rules/reference/sensitive-data-detection/ */
  sensitiveData: "e22d83c647c64a3eae91b71b499d988e",
} as const;

/** The last rule of the OWASP Core Ruleset, which compares the score with the threshold. */
export const OWASP_SCORE_RULE = "6179ae15870a4bb7b2d480d4843b323c";

/** A rule of the Cloudflare Managed Ruleset that Cloudflare's examples name. */
export const EXAMPLE_MANAGED_RULE = "23ee7cebe6e8443e99ecf932ab579455";

export function newId(): string {
  return randomUUID().replaceAll("-", "");
}

/** Returns an ID that's the same at every start. */
export function idFrom(...words: readonly (string | number)[]): string {
  return createHash("sha256").update(words.join(" ")).digest("hex").slice(0, 32);
}
