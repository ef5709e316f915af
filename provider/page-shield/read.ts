import { z } from "zod";
import type { EdgeApi } from "../api/client";
import { camelRecord, omitAbsent, optionalBoolean, optionalText } from "../runtime/members";
import type { PageShieldPolicyState, PageShieldSettingsState } from "./records";

/**
 * Reads a zone's Page Shield settings and policies. Used by lookups, and by commands that don't need the Pulumi SDK.
 */

const settings = camelRecord({
  enabled: z.boolean(),
  updated_at: optionalText,
  use_cloudflare_reporting_endpoint: optionalBoolean,
  use_platform_reporting_endpoint: optionalBoolean,
  use_connection_url_path: optionalBoolean,
}).transform(({ useCloudflareReportingEndpoint, usePlatformReportingEndpoint, ...rest }) => ({
  ...rest,
  ...omitAbsent({ useReportingEndpoint: useCloudflareReportingEndpoint ?? usePlatformReportingEndpoint }),
}));

export function readPageShieldSettings(api: EdgeApi, zoneId: string): Promise<PageShieldSettingsState> {
  return api.get(`/zones/${zoneId}/page_shield`, {
    what: `Reading Page Shield settings of zone ${zoneId}`,
    schema: settings,
  });
}

export const policy = camelRecord({
  id: z.string(),
  description: optionalText,
  action: z.string(),
  expression: z.string(),
  enabled: z
    .union([z.boolean(), z.enum(["true", "false"])])
    .transform((enabled) => enabled === true || enabled === "true"),
  value: z.string(),
});

/** @param complete whether the listing fails if a policy can't be read. By default, it's left out with a warning. */
export async function listPageShieldPolicies(
  api: EdgeApi,
  zoneId: string,
  { complete = false }: { readonly complete?: boolean } = {},
): Promise<readonly PageShieldPolicyState[]> {
  const what = `Listing the policies in zone ${zoneId}`;
  return (await api.list(`/zones/${zoneId}/page_shield/policies`, { what, record: policy, complete }))
    .records;
}
