/**
 * Every number of the documentation that the provider acts on, with its unit in the name and its source beside it.
 */

/** Page security (seed 000). */
export const PAGE_SHIELD = {
  /** A script is malicious when its `js_integrity_score` is lower than this (seed 000, "Limits" and "Script"). */
  MALICIOUS_BELOW_SCORE: 50,
  /** Items per page of scripts, connections and cookies: the maximum of the OpenAPI, the seed shows none. */
  MAX_PER_PAGE: 100,
} as const;

/** Identifiers (seed 000, "Every identifier is a hexadecimal string"; OpenAPI: 32 characters). */
export const IDENTIFIER = { LENGTH_CHARACTERS: 32 } as const;
