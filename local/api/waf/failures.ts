import type { ContentfulStatusCode } from "hono/utils/http-status";
import { refusal } from "../envelope";

/**
 * Errors of the previous rules and the migration. Cloudflare doesn't document them, so their statuses and codes are
 * made up.
 */
export const wafFailures = {
  /** The error after the migration, which ends the previous rules' APIs. */
  migrated: () =>
    refusal(403, 12010, "the zone's previous WAF managed rules were migrated. Use the rulesets API"),
  /** The error after Cloudflare has retired the API. */
  retired: (status: 404 | 410) => refusal(status, 12011, "this API is no longer available"),

  phaseTwoMissing: () => refusal(400, 12020, "invalid query: phase_two=1 is required"),
  modeUnknown: (mode: string) =>
    refusal(400, 12021, `invalid query: waf_migration is '${mode}'. Use pending, 1, validation or 2`),
  irreversible: () => refusal(400, 12022, "the zone's migration can't go back to validation"),
  enterpriseOnly: () => refusal(400, 12023, "validation is available to Enterprise zones only"),
  nothingToMigrate: () => refusal(400, 12024, "the zone is already migrated"),

  overridesLeft: (count: number) =>
    refusal(
      400,
      12030,
      `the zone can't be migrated, because it has URI-based overrides (${count}). Delete them first`,
    ),
  tooManyRules: (count: number, most: number) =>
    refusal(
      400,
      12031,
      `${count} firewall rules would be migrated, but the limit is ${most}. Contact Cloudflare Support`,
    ),
  expressionTooLong: (id: string, bytes: number, most: number) =>
    refusal(
      400,
      12032,
      `the expression of firewall rule ${id} has ${bytes} bytes, but the limit is ${most}. Contact Cloudflare Support`,
    ),
  enabledTooEarly: (index: number) =>
    refusal(
      400,
      12033,
      "a new rule must be disabled until the zone is migrated, because the previous rules are active",
      `/rules/${index}/enabled`,
    ),

  afterPut: (status: number) =>
    refusal(
      // Any three-digit status works; Hono's type lists only the registered ones.
      status as ContentfulStatusCode,
      12040,
      "failed after the configuration was saved",
    ),
};
