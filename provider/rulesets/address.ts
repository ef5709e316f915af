/** The one phase that managed rulesets are deployed in (seed 001, "What the service does"). */
export const PHASE = "http_request_firewall_managed";

export const accountRulesetsPath = (account: string): string => `/accounts/${account}/rulesets`;

export const zoneRulesetsPath = (zone: string): string => `/zones/${zone}/rulesets`;

export const entryPointPath = (zone: string): string =>
  `${zoneRulesetsPath(zone)}/phases/${PHASE}/entrypoint`;

export const rulesPath = (zone: string, entryPoint: string): string =>
  `${zoneRulesetsPath(zone)}/${entryPoint}/rules`;
