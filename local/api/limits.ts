/** Measures of the service. Given as a parameter, so that a test can lower one without a branch in the code. */
export interface Limits {
  readonly maxBodyBytes: number;
  readonly defaultPerPage: number;
  readonly maxPerPage: number;
  readonly maxCookieFilterCharacters: number;
  readonly maxExportRows: number;
  /** Policies a zone may hold. A plan without the entitlement has a quota of zero: the vendor says it as a number. */
  readonly maxPolicies: Readonly<Record<Plan, number>>;
  /** A script scored lower than this is malicious. */
  readonly maliciousBelow: number;
  /** Older entries of the request log are forgotten. */
  readonly maxLoggedRequests: number;
  readonly maxNamespaces: number;
  readonly maxNamespacesPerPage: number;
  readonly maxNamespaceTitleCharacters: number;
  readonly maxKvKeyBytes: number;
  /** After base64 is decoded. */
  readonly maxKvValueBytes: number;
  /** As JSON. */
  readonly maxKvMetadataBytes: number;
  /** The shortest lifetime, and how far ahead an expiration must be. */
  readonly minKvTtlSeconds: number;
  /** In one bulk write or delete. */
  readonly maxKvPairs: number;
  readonly maxKvBulkReadKeys: number;
  readonly minKvListLimit: number;
  readonly maxKvListLimit: number;
  /** Jobs of a zone. A plan without the entitlement has a quota of zero: the vendor says it in the same words. */
  readonly maxLogpushJobs: Readonly<Record<Plan, number>>;
  readonly maxAccountLogpushJobs: number;
  /** Comparisons and logical nodes of one filter. */
  readonly maxLogpushFilterOperators: number;
  readonly maxLogpushFilterBytes: number;
  /** Lists of the previous WAF rules, of firewall rules too. */
  readonly minWafPerPage: number;
  readonly defaultWafPerPage: number;
  /** Firewall rules that a migration converts without the vendor's support. */
  readonly maxMigratableRules: number;
  /** Of one such rule's expression, in UTF-8. */
  readonly maxMigratableExpressionBytes: number;
  readonly maxRulesetsPerPage: number;
  /** Rules of a zone in one phase. */
  readonly maxZoneRules: number;
  /** Of the expression of a rule. */
  readonly maxExpressionCharacters: number;
}

export const plans = ["free", "pro", "business", "enterprise"] as const;
export type Plan = (typeof plans)[number];

/** Sources: facts 1.6, 4, 9.1, 12 (D11, D32), 14. The quotas above zero are documented nowhere. */
export const defaultLimits: Limits = {
  maxBodyBytes: 100_000_000,
  defaultPerPage: 20,
  maxPerPage: 100,
  maxCookieFilterCharacters: 1024,
  maxExportRows: 50_000,
  maxPolicies: { free: 0, pro: 5, business: 10, enterprise: 100 },
  maliciousBelow: 50,
  maxLoggedRequests: 50_000,
  maxNamespaces: 1000,
  maxNamespacesPerPage: 1000,
  maxNamespaceTitleCharacters: 512,
  maxKvKeyBytes: 512,
  maxKvValueBytes: 26_214_400,
  maxKvMetadataBytes: 1024,
  minKvTtlSeconds: 60,
  maxKvPairs: 10_000,
  maxKvBulkReadKeys: 100,
  minKvListLimit: 10,
  maxKvListLimit: 1000,
  maxLogpushJobs: { free: 0, pro: 0, business: 0, enterprise: 4 },
  maxAccountLogpushJobs: 100,
  maxLogpushFilterOperators: 30,
  maxLogpushFilterBytes: 1000,
  minWafPerPage: 5,
  defaultWafPerPage: 50,
  maxMigratableRules: 200,
  maxMigratableExpressionBytes: 4096,
  maxRulesetsPerPage: 50,
  maxZoneRules: 1000,
  maxExpressionCharacters: 4096,
};

/** Orders the plans: what one reaches, every higher one does too. */
export function rank(plan: Plan): number {
  return plans.indexOf(plan);
}
