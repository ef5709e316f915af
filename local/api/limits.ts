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
}

export const plans = ["free", "pro", "business", "enterprise"] as const;
export type Plan = (typeof plans)[number];

/** Sources: facts 1.6, 4, 12 (D11), 14. The quotas above zero are documented nowhere. */
export const defaultLimits: Limits = {
  maxBodyBytes: 100_000_000,
  defaultPerPage: 20,
  maxPerPage: 100,
  maxCookieFilterCharacters: 1024,
  maxExportRows: 50_000,
  maxPolicies: { free: 0, pro: 5, business: 10, enterprise: 100 },
  maliciousBelow: 50,
  maxLoggedRequests: 50_000,
};

/** Orders the plans: what one reaches, every higher one does too. */
export function rank(plan: Plan): number {
  return plans.indexOf(plan);
}
