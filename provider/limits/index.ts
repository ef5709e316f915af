/** The documented limits that the provider enforces. Each has its unit in its name and its source in a comment. */

/** Limits for zones (https://developers.cloudflare.com/api/resources/zones/methods/list/). */
export const ZONES = { MAX_PER_PAGE: 50 } as const;

/** Limits for Page Shield (https://developers.cloudflare.com/client-side-security/). */
export const PAGE_SHIELD = {
  /** A script counts as malicious if its `js_integrity_score` is below this. */
  MALICIOUS_BELOW_SCORE: 50,
  /**
   * The plans that may have policies, according to the OpenAPI schema (`POST /zones/{zone_id}/page_shield/policies`). Guides list
   * them as an add-on of Enterprise.
   */
  POLICY_PLANS: ["pro", "business", "enterprise"],
  /** The maximum number of scripts, connections or cookies per page (`GET /zones/{zone_id}/page_shield/scripts`). */
  MAX_PER_PAGE: 100,
  /** The most scripts, connections or cookies that this package reads from a zone at once, so that memory is bounded. */
  MAX_DETECTIONS: 50_000,
  /**
   * The only order that's stable between pages. If a list is sorted by last seen, a script that's seen again jumps to
   * page 1.
   */
  STEADY_ORDER: { order_by: "first_seen_at", direction: "asc" },
} as const;

/** IDs of zones, accounts and most other objects have 32 hex digits. */
export const IDENTIFIER = { LENGTH_CHARACTERS: 32 } as const;

/** Limits for Workers KV namespaces and entries (https://developers.cloudflare.com/kv/platform/limits/). */
export const KV = {
  /** The maximum size of a key in UTF-8. In addition, its characters must be printable and not whitespace. */
  MAX_KEY_BYTES: 512,
  /** 25 MiB after base64 decoding. Larger values are rejected. */
  MAX_VALUE_BYTES: 26_214_400,
  /** The maximum size of the metadata's JSON. */
  MAX_METADATA_BYTES: 1_024,
  MIN_TTL_SECONDS: 60,
  /** The maximum length of a namespace's title (`POST /accounts/{account_id}/storage/kv/namespaces`). */
  MAX_TITLE_CHARACTERS: 512,
  /** Cloudflare raises this limit on request. */
  MAX_NAMESPACES_PER_ACCOUNT: 1_000,
  /** The maximum number of entries in one bulk write, or of keys in one bulk delete. */
  MAX_BULK_ENTRIES: 10_000,
  /** Our own limit for the body of one bulk write, unless a single entry is larger. Cloudflare accepts 100 MB. */
  BATCH_BYTES: 8 * 1024 * 1024,
  /**
   * Our own limit for the total size of bodies sent at the same time, so that a small machine can upload a gigabyte.
   */
  IN_FLIGHT_BYTES: 32 * 1024 * 1024,
  /** The maximum number of keys in one bulk get. */
  MAX_BULK_GET_KEYS: 100,
  MAX_KEYS_PER_PAGE: 1_000,
  MAX_NAMESPACES_PER_PAGE: 100,
  /** How long a write can take to become visible everywhere (https://developers.cloudflare.com/kv/concepts/how-kv-works/). */
  CONSISTENCY_SECONDS: 90,
} as const;

/** Limits for WAF managed rules (https://developers.cloudflare.com/waf/managed-rules/). */
export const MANAGED_RULES = {
  /** The tags are paranoia-level-1 to paranoia-level-4. */
  MAX_PARANOIA_LEVEL: 4,
  /**
   * The score thresholds by name:
   * https://developers.cloudflare.com/waf/managed-rules/reference/owasp-core-ruleset/concepts/#score-threshold
   */
  SCORE_THRESHOLDS: { low: 60, medium: 40, high: 25 },
  /** The maximum number of rulesets per page (`GET /zones/{zone_id}/rulesets`). */
  MAX_RULESETS_PER_PAGE: 50,
  /** The Cloudflare Managed Free Ruleset, the only one that free zones can deploy. */
  FREE_RULESET_ID: "77454fe2d30c4220b5701f6fdfb893ba",
  /** The plans that include the other managed rulesets: https://developers.cloudflare.com/waf/managed-rules/#available-managed-rulesets */
  PLANS: ["pro", "business", "enterprise"],
  /** Our own limit. A longer default `ref` is replaced by a digest. */
  MAX_DEFAULT_REF_CHARACTERS: 120,
} as const;

/** Limits for expressions in the Rules language. */
export const RULES_LANGUAGE = {
  /**
   * The maximum length of an expression:
   * https://developers.cloudflare.com/ruleset-engine/rules-language/expressions/#maximum-rule-expression-length
   */
  MAX_CHARACTERS: 4_096,
  /**
   * The maximum nesting of parentheses, `not` and function calls. It's the default in Cloudflare's own parser,
   * wirefilter.
   */
  MAX_NESTING: 128,
} as const;

/** Limits for Logpush jobs (https://developers.cloudflare.com/logs/, `POST /zones/{zone_id}/logpush/jobs`). */
export const LOGPUSH = {
  /** Every comparison and every `and` or `or` counts. Cloudflare's docs say "about 30". */
  MAX_FILTER_OPERATORS: 30,
  /** The maximum size of the filter's JSON, without whitespace and before escaping. */
  MAX_FILTER_BYTES: 1_000,
  /** Cloudflare raises this limit for some accounts. */
  MAX_JOBS_PER_ZONE: 4,
  MAX_NAME_CHARACTERS: 512,
  MAX_DESTINATION_CHARACTERS: 4_096,
  MAX_CHALLENGE_CHARACTERS: 4_096,
  /** The range of `max_upload_bytes`. 0 turns the limit off. */
  UPLOAD_BYTES: { MIN: 5_000_000, MAX: 1_000_000_000 },
  /** The range of `max_upload_interval_seconds`. 0 turns the limit off. */
  UPLOAD_INTERVAL_SECONDS: { MIN: 30, MAX: 300 },
  /** The range of `max_upload_records`. 0 turns the limit off. */
  UPLOAD_RECORDS: { MIN: 1_000, MAX: 1_000_000 },
} as const;

/** Limits for Logpush transformers (https://developers.cloudflare.com/logs/logpush/transformers/#limits). */
export const TRANSFORMER = {
  MAX_NAME_BYTES: 255,
  MAX_DESCRIPTION_BYTES: 4_096,
  /** The maximum size of the code (`POST /accounts/{account_id}/logpush/transformers`). Larger code is rejected. */
  MAX_CODE_BYTES: 32_768,
  /** 10 KB, the limit according to the guide. Larger code causes a warning. */
  DOCUMENTED_CODE_BYTES: 10_000,
} as const;

/**
 * Limits for the WAF migration
 * (https://developers.cloudflare.com/waf/reference/migration-guides/waf-managed-rules-migration/). Zones that exceed
 * the first two limits need Cloudflare Support.
 */
export const MIGRATION = {
  /** The maximum number of firewall rules that bypass WAF managed rules. */
  MAX_FIREWALL_RULES: 200,
  /** The maximum size of such a rule's expression, in UTF-8. */
  MAX_EXPRESSION_BYTES: 4_096,
  /**
   * The maximum number of items per page in lists of the previous WAF managed rules, such as
   * `GET /zones/{zone_id}/firewall/waf/packages`.
   */
  MAX_PER_PAGE: 100,
  /** Turning off the previous rules can take minutes, or up to an hour. */
  MAX_SWITCH_SECONDS: 3_600,
} as const;

export {
  boundsOf,
  COUNTED_AS_CONNECTION,
  LIMIT_ERRORS,
  REQUESTS,
  WORKERS,
  WORKERS_NOTES,
  type Amount,
  type Bounds,
  type Limit,
  type RequestLimit,
  type Tier,
  type Unit,
  type WorkersLimit,
  type WorkersNote,
  type ZonePlan,
} from "./workers";
