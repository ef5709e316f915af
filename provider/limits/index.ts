/**
 * Every number of the documentation that the provider acts on, with its unit in the name and its source beside it.
 */

/** Page security (seed 000). */
export const PAGE_SHIELD = {
  /** A script is malicious when its `js_integrity_score` is lower than this (seed 000, "Limits" and "Script"). */
  MALICIOUS_BELOW_SCORE: 50,
  /** Items per page of scripts, connections and cookies: the maximum of the OpenAPI, the seed shows none. */
  MAX_PER_PAGE: 100,
  /** The one order that does not shift while pages are read (OpenAPI): a record seen again would jump to the first page. */
  STEADY_ORDER: { order_by: "first_seen_at", direction: "asc" },
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
  /** https://developers.cloudflare.com/kv/platform/limits/. Cloudflare raises it on request. */
  MAX_NAMESPACES_PER_ACCOUNT: 1_000,
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

/** Managed rulesets (seed 001, "Rule" and "Configuration rules"; facts 5.2 where the seed is silent). */
export const MANAGED_RULES = {
  /** Seed 001, "Paranoia-level tags": paranoia-level-1 to paranoia-level-4. */
  MAX_PARANOIA_LEVEL: 4,
  /** The score that a name stands for. Seed 001, "Versioning" (medium, high); documentation (low). */
  SCORE_THRESHOLDS: { low: 60, medium: 40, high: 25 },
  /** OpenAPI, listing of rulesets: rulesets per page. */
  MAX_RULESETS_PER_PAGE: 50,
  /** Ours: a default `ref` that would be longer is shortened to a digest. */
  MAX_DEFAULT_REF_CHARACTERS: 120,
} as const;

/** Expressions of the Rules language. */
export const RULES_LANGUAGE = {
  /** https://developers.cloudflare.com/ruleset-engine/rules-language/expressions/#maximum-rule-expression-length */
  MAX_CHARACTERS: 4_096,
  /** Parentheses, `not` and function calls within each other: the default of Cloudflare's own parser, wirefilter. */
  MAX_NESTING: 128,
} as const;

/** Log-push jobs (seed 002, "Filters" under "Limits"; facts 7.2 to 7.4 where the seed is silent). */
export const LOGPUSH = {
  /** Seed 002: "About 30 operators": every comparison and every `and` or `or` is counted. */
  MAX_FILTER_OPERATORS: 30,
  /** Seed 002: "1000 bytes per filter": of its JSON without white space, before it is escaped. */
  MAX_FILTER_BYTES: 1_000,
  /** Documentation: jobs of one zone. Cloudflare raises it for some accounts. */
  MAX_JOBS_PER_ZONE: 4,
  /** OpenAPI, logpush_name. */
  MAX_NAME_CHARACTERS: 512,
  /** OpenAPI, logpush_destination_conf. */
  MAX_DESTINATION_CHARACTERS: 4_096,
  /** OpenAPI, logpush_ownership_challenge. */
  MAX_CHALLENGE_CHARACTERS: 4_096,
  /** OpenAPI, logpush_max_upload_bytes; 0 switches the limit off. */
  UPLOAD_BYTES: { MIN: 5_000_000, MAX: 1_000_000_000 },
  /** OpenAPI, logpush_max_upload_interval_seconds; 0 switches the limit off. */
  UPLOAD_INTERVAL_SECONDS: { MIN: 30, MAX: 300 },
  /** OpenAPI, logpush_max_upload_records; 0 switches the limit off. */
  UPLOAD_RECORDS: { MIN: 1_000, MAX: 1_000_000 },
} as const;

/** The migration from the previous managed rules (seed 001, "Limits" and "Errors"): more needs the vendor's support. */
export const MIGRATION = {
  /** "Firewall rules migratable without support". */
  MAX_FIREWALL_RULES: 200,
  /** "Length of one firewall rule expression": 4 KB, as UTF-8. */
  MAX_EXPRESSION_BYTES: 4_096,
  /** OpenAPI, listings of the previous packages, groups, rules and overrides: items per page. */
  MAX_PER_PAGE: 100,
  /** Documentation: the switch may take minutes, up to an hour. */
  MAX_SWITCH_SECONDS: 3_600,
} as const;

export {
  boundsOf,
  COUNTED_AS_CONNECTION,
  EDGE_ERRORS,
  EDGE_FUNCTION,
  EDGE_FUNCTION_RULES,
  EDGE_REQUEST,
  type Amount,
  type Bounds,
  type EdgeRule,
  type FunctionLimit,
  type Limit,
  type RequestLimit,
  type Tier,
  type Unit,
  type ZonePlan,
} from "./workers";
