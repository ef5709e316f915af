export const plans = ["free", "pro", "business", "enterprise"] as const;
export type Plan = (typeof plans)[number];

/**
 * The API's default limits, which a test can lower. Cloudflare documents them in its OpenAPI schema and on its
 * products' limits pages, except for quotas above zero.
 */
export const defaultLimits = {
  maxBodyBytes: 100_000_000,
  defaultPerPage: 20,
  maxPerPage: 100,
  maxZonesPerPage: 50,
  /** The number of Page Shield policies per zone. Without the entitlement, the quota is 0, which the error shows. */
  maxPolicies: { free: 0, pro: 5, business: 10, enterprise: 100 },
  /** A script with a lower score than this counts as malicious. */
  maliciousBelow: 50,
  /** The size of the request log. Older entries are dropped. */
  maxLoggedRequests: 50_000,
  maxNamespaces: 1000,
  maxNamespacesPerPage: 1000,
  maxNamespaceTitleCharacters: 512,
  maxKvKeyBytes: 512,
  /** The size of a value after base64 decoding. */
  maxKvValueBytes: 26_214_400,
  /** The size of metadata as JSON. */
  maxKvMetadataBytes: 1024,
  /** The minimum TTL. An expiration must be at least this far in the future. */
  minKvTtlSeconds: 60,
  /** The number of pairs or keys in one bulk write or delete. */
  maxKvPairs: 10_000,
  maxKvBulkReadKeys: 100,
  minKvListLimit: 10,
  maxKvListLimit: 1000,
  /** The number of Logpush jobs per zone. Without the entitlement, the quota is 0, and the error is the same. */
  maxLogpushJobs: { free: 4, pro: 4, business: 4, enterprise: 4 },
  maxAccountLogpushJobs: 100,
  /** The number of comparisons and logical nodes in one filter. */
  maxLogpushFilterOperators: 30,
  maxLogpushFilterBytes: 1000,
  /** The size of a transformer's SQL, according to Cloudflare's guide. */
  maxTransformerBytes: 10_000,
  /** The page size limits for lists of the previous WAF rules and of firewall rules. */
  minWafPerPage: 5,
  defaultWafPerPage: 50,
  /** The number of firewall rules that a migration converts without Cloudflare Support. */
  maxMigratableRules: 200,
  /** The size of such a rule's expression in UTF-8. */
  maxMigratableExpressionBytes: 4096,
  maxRulesetsPerPage: 50,
  /** The number of a zone's rules in one phase. */
  maxZoneRules: 1000,
  /** The number of an account's rules in one phase. Without an Enterprise plan, the quota is 0. */
  maxAccountRules: 1000,
  /** The length of a rule's expression. */
  maxExpressionCharacters: 4096,
};

export type Limits = Readonly<typeof defaultLimits>;

/** Returns a plan's rank. A higher plan includes everything in lower plans. */
export function rank(plan: Plan): number {
  return plans.indexOf(plan);
}
