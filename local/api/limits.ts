export const plans = ["free", "pro", "business", "enterprise"] as const;
export type Plan = (typeof plans)[number];

/**
 * The API's limits, passed as a parameter so that a test can lower one. Cloudflare documents them in its OpenAPI schema
 * and on its products' limits pages, except for the quotas above zero.
 */
export const defaultLimits = {
  maxBodyBytes: 100_000_000,
  defaultPerPage: 20,
  maxPerPage: 100,
  maxZonesPerPage: 50,
  maxCookieFilterCharacters: 1024,
  maxExportRows: 50_000,
  /** Page Shield policies per zone. Without the entitlement, the quota is 0, which the error quotes. */
  maxPolicies: { free: 0, pro: 5, business: 10, enterprise: 100 },
  /** A script with a lower score than this is malicious. */
  maliciousBelow: 50,
  /** The request log drops older entries. */
  maxLoggedRequests: 50_000,
  maxNamespaces: 1000,
  maxNamespacesPerPage: 1000,
  maxNamespaceTitleCharacters: 512,
  maxKvKeyBytes: 512,
  /** After base64 is decoded. */
  maxKvValueBytes: 26_214_400,
  /** As JSON. */
  maxKvMetadataBytes: 1024,
  /** The minimum TTL, and how far ahead an expiration must be. */
  minKvTtlSeconds: 60,
  /** In one bulk write or delete. */
  maxKvPairs: 10_000,
  maxKvBulkReadKeys: 100,
  minKvListLimit: 10,
  maxKvListLimit: 1000,
  /** Logpush jobs per zone. Without the entitlement, the quota is 0, and the error is the same. */
  maxLogpushJobs: { free: 0, pro: 0, business: 0, enterprise: 4 },
  maxAccountLogpushJobs: 100,
  /** Comparisons and logical nodes of one filter. */
  maxLogpushFilterOperators: 30,
  maxLogpushFilterBytes: 1000,
  /** For lists of the previous WAF rules and of firewall rules. */
  minWafPerPage: 5,
  defaultWafPerPage: 50,
  /** Firewall rules that a migration converts without Cloudflare's support. */
  maxMigratableRules: 200,
  /** The length of one such rule's expression in UTF-8. */
  maxMigratableExpressionBytes: 4096,
  maxRulesetsPerPage: 50,
  /** A zone's rules in one phase. */
  maxZoneRules: 1000,
  /** The length of a rule's expression. */
  maxExpressionCharacters: 4096,
};

export type Limits = Readonly<typeof defaultLimits>;

/** The order of the plans: a higher plan includes what a lower one has. */
export function rank(plan: Plan): number {
  return plans.indexOf(plan);
}
