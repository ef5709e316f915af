import type { Fields } from "./fields";
import * as fields from "./fields";

export type ScopeKind = "zones" | "accounts";

/** The datasets of zones. Any other belongs to an account: only Cloudflare knows all of them. */
const zoneDatasets: ReadonlySet<string> = new Set([
  "account_abuse_protection_events",
  "http_requests",
  "dns_logs",
  "nel_reports",
  "spectrum_events",
  "page_shield_events",
  "zaraz_events",
]);

/**
 * The fields of the datasets that programs here use. Those of any other dataset are unknown, unless a test sets them:
 * jobs and filters then accept every field.
 */
const fieldLists: Readonly<Partial<Record<string, Fields>>> = {
  audit_logs: fields.auditLogs,
  dns_logs: fields.dnsLogs,
  firewall_events: fields.firewallEvents,
  http_requests: fields.httpRequests,
  workers_trace_events: fields.workersTraceEvents,
};

const unfilterable: Readonly<Partial<Record<string, ReadonlySet<string>>>> = {
  firewall_events: new Set([
    "Action",
    "Description",
    "Kind",
    "MatchIndex",
    "Metadata",
    "OriginatorRayID",
    "RuleID",
    "Source",
  ]),
};

const sharedDatasets: ReadonlySet<string> = new Set(["firewall_events", "websocket_analytics"]);

/** The datasets that filter_attack_traffic works with. */
export const attackDatasets: ReadonlySet<string> = new Set([
  "http_requests",
  "firewall_events",
  "network_analytics_logs",
]);

export function isDatasetOf(dataset: string, scope: ScopeKind): boolean {
  return sharedDatasets.has(dataset) || zoneDatasets.has(dataset) === (scope === "zones");
}

/** Returns a dataset's fields, before any changes by a test. Undefined if they're unknown. */
export function usualFields(dataset: string): Fields | undefined {
  return fieldLists[dataset];
}

/** Whether filters for this dataset can use the field. */
export function isFilterable(dataset: string, field: string): boolean {
  return unfilterable[dataset]?.has(field) !== true;
}
