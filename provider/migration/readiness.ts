import { z } from "zod";
import { ApiError } from "../api/errors";
import { judged, type ZoneReadiness } from "./judge";
import { observe } from "./observation";
import { ID } from "../runtime/fields";
import type { Host } from "../runtime/host";
import { lookup } from "../runtime/lookup";

export type { Readiness, ZoneReadiness } from "./judge";

export interface MigrationReadinessArgs {
  /** The IDs of the zones (32 hex digits each). */
  readonly zones: readonly string[];
}

/** A report on zones. */
export interface MigrationReadiness {
  readonly zones: readonly ZoneReadiness[];
}

const report = lookup<MigrationReadinessArgs, MigrationReadiness>("migrationReadiness")(
  { zones: z.array(ID.zone).min(1, "is empty. List at least one zone ID") },
  async (host, { zones }) => ({
    zones: await Promise.all([...new Set(zones)].map((zone) => readinessOf(host, zone))),
  }),
);

/**
 * Reports how far the WAF migration of each zone has progressed: whether it's ready, blocked (and by what), done or
 * retired. Only reads, with about ten requests per zone.
 *
 * Zones are judged by phase 2 of Cloudflare's migration: every zone can migrate unless it has URI-based overrides.
 * Phase 1 also required that the previous rules were off or only Cloudflare's own, and that no firewall rule or page
 * rule acted on them. That no longer applies. A zone with more than 200 firewall rules to migrate, or with an
 * expression over 4 KB, needs Cloudflare Support.
 *
 * A zone that can't be read is still in the report.
 *
 * @throws LookupError if a zone ID is malformed, if no zone is given, or if credentials are missing.
 *
 * @example Which zones are ready
 * ```ts
 * import { migrationReadiness } from "pulumi-edgeguard";
 *
 * export const readiness = migrationReadiness({ zones: ["0da42c8d2132a9ddaf714f9e7c920711"] }).then(
 *   ({ zones }) => zones.map(({ zoneId, readiness, because }) => [zoneId, readiness, ...because].join(": ")),
 * );
 * ```
 * @see https://developers.cloudflare.com/waf/reference/migration-guides/waf-managed-rules-migration/
 */
export const migrationReadiness = report.plain;

/**
 * The same as `migrationReadiness`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const migrationReadinessOutput = report.output;

async function readinessOf(host: Host, zone: string): Promise<ZoneReadiness> {
  try {
    return judged(await observe(host.api, zone));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { zoneId: zone, readiness: "notRead", because: [host.redact(error.message)], findings: [] };
  }
}
