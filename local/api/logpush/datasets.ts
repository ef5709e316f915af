import type { Fields } from "./fields";
import * as fields from "./fields";

/** All datasets in Cloudflare's published list. */
export const datasets = [
  "access_requests",
  "audit_logs",
  "audit_logs_v2",
  "biso_user_actions",
  "casb_findings",
  "device_posture_results",
  "dex_application_tests",
  "dex_device_state_events",
  "dlp_forensic_copies",
  "dns_firewall_logs",
  "dns_logs",
  "email_security_alerts",
  "email_security_post_delivery_events",
  "firewall_events",
  "gateway_dns",
  "gateway_http",
  "gateway_network",
  "http_requests",
  "ipsec_logs",
  "magic_ids_detections",
  "mcp_portal_logs",
  "mnm_flow_logs",
  "nel_reports",
  "network_analytics_logs",
  "page_shield_events",
  "sinkhole_http_logs",
  "spectrum_events",
  "ssh_logs",
  "turnstile_events",
  "warp_config_changes",
  "warp_toggle_changes",
  "websocket_analytics",
  "workers_trace_events",
  "zaraz_events",
  "zero_trust_network_sessions",
] as const;

export type Dataset = (typeof datasets)[number];
export type ScopeKind = "zones" | "accounts";

/** The datasets of zones. All others belong to accounts. */
const zoneDatasets: ReadonlySet<Dataset> = new Set([
  "http_requests",
  "firewall_events",
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
const fieldLists: Partial<Record<Dataset, Fields>> = {
  audit_logs: fields.auditLogs,
  dns_logs: fields.dnsLogs,
  firewall_events: fields.firewallEvents,
  http_requests: fields.httpRequests,
  workers_trace_events: fields.workersTraceEvents,
};

const unfilterable: Partial<Record<Dataset, ReadonlySet<string>>> = {
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

export function isDataset(text: string): text is Dataset {
  return (datasets as readonly string[]).includes(text);
}

export function scopeOfDataset(dataset: Dataset): ScopeKind {
  return zoneDatasets.has(dataset) ? "zones" : "accounts";
}

/** Returns a dataset's fields, before any changes by a test. Undefined if they're unknown. */
export function usualFields(dataset: Dataset): Fields | undefined {
  return fieldLists[dataset];
}

/** Whether filters for this dataset can use the field. */
export function isFilterable(dataset: Dataset, field: string): boolean {
  return unfilterable[dataset]?.has(field) !== true;
}
