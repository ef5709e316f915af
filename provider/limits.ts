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

/** Key-value namespaces and entries (seed 002, "Key-value entry" and "Limits"; facts 9.1 where the seed is silent). */
export const KV = {
  /** Seed 002: "Up to 512 bytes; printable non-whitespace characters". */
  MAX_KEY_BYTES: 512,
  /** Seed 002 says 25 MB, the vendor 25 MiB: refused above the larger, after base64 decoding. */
  MAX_VALUE_BYTES: 26_214_400,
  /** Above this the seed's own figure is passed: warned of. */
  SEED_VALUE_BYTES: 25_000_000,
  /** Seed 002: "Serialises to JSON of at most 1,024 bytes". */
  MAX_METADATA_BYTES: 1_024,
  /** Seed 002: "Lifetime in seconds, at least 60". */
  MIN_TTL_SECONDS: 60,
  /** OpenAPI, workers-kv-namespace-create-a-namespace. */
  MAX_TITLE_CHARACTERS: 512,
  /** OpenAPI, bulk write and bulk delete: entries or keys per request. */
  MAX_BULK_ENTRIES: 10_000,
  /** Ours: body of one bulk write, unless a single entry is larger. The service takes 100 MB. */
  BATCH_BYTES: 8 * 1024 * 1024,
  /** Ours: bodies being sent at the same time, so that a gigabyte passes through a small machine. */
  IN_FLIGHT_BYTES: 32 * 1024 * 1024,
  /** OpenAPI, bulk get: keys per request. */
  MAX_BULK_GET_KEYS: 100,
  /** OpenAPI, key listing: keys per page. */
  MAX_KEYS_PER_PAGE: 1_000,
  /** OpenAPI, namespace listing: namespaces per page. */
  MAX_NAMESPACES_PER_PAGE: 100,
  /** Documentation: how long a write may take to be seen everywhere. */
  CONSISTENCY_SECONDS: 90,
} as const;
