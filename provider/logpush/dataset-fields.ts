import { ownMember } from "../basics/json";
import type { Scope } from "../runtime/composite-id";

/**
 * The fields of the main datasets, by type. The filter builders derive their types from these fields, and a preview
 * uses them to check a filter without a request. Which fields a zone has depends on its plan, so a live check reads
 * the API's list. Source: https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/.
 */

const FIELD_TYPES = [
  "string",
  "int",
  "float",
  "bool",
  "int or string",
  "array[string]",
  "array[int]",
  "array[object]",
  "object",
] as const;

/**
 * A field's type, as Cloudflare names it. `"int or string"` is a time: a number or a string, depending on the job's
 * `timestampFormat`.
 */
export type FieldType = (typeof FIELD_TYPES)[number];

// prettier-ignore
export const DATASET_FIELDS = {
  http_requests: {
    string: [
      "BotScoreSrc", "CacheCacheStatus", "ClientCity", "ClientCountry", "ClientDeviceType", "ClientIP", "ClientIPClass",
      "ClientLatitude", "ClientLongitude", "ClientMTLSAuthCertFingerprint", "ClientMTLSAuthStatus", "ClientRegionCode",
      "ClientRequestHost", "ClientRequestMethod", "ClientRequestPath", "ClientRequestProtocol", "ClientRequestReferer",
      "ClientRequestScheme", "ClientRequestSource", "ClientRequestURI", "ClientRequestUserAgent", "ClientSSLCipher",
      "ClientSSLProtocol", "ClientTLSKeyExchangeGroup", "ClientXRequestedWith", "EdgeColoCode", "EdgePathingOp", "EdgePathingSrc", "EdgePathingStatus",
      "EdgeRequestHost", "EdgeResponseContentType", "EdgeServerIP", "FraudAttack", "FraudEmailRisk", "FraudUserID",
      "JA3Hash", "JA4", "JSDetectionPassed", "LeakedCredentialCheckResult", "OriginIP", "OriginResponseHTTPExpires",
      "OriginResponseHTTPLastModified", "OriginSSLProtocol", "OriginTLSKeyExchangeGroup", "ParentRayID", "PayPerCrawlStatus", "RayID",
      "SecurityAction", "SecurityRuleDescription", "SecurityRuleID", "VerifiedBotCategory", "WAFFlags", "WAFMatchedVar",
      "WebAssetsOperationID", "WorkerScriptName", "WorkerStatus", "ZoneName",
    ],
    int: [
      "BotScore", "CacheResponseBytes", "CacheResponseStatus", "ClientASN", "ClientRequestBytes", "ClientSrcPort",
      "ClientTCPRTTMs", "EdgeColoID", "EdgeResponseBodyBytes", "EdgeResponseBytes", "EdgeResponseStatus",
      "EdgeTimeToFirstByteMs", "OriginDNSResponseTimeMs", "OriginRequestHeaderSendDurationMs", "OriginResponseBytes",
      "OriginResponseDurationMs", "OriginResponseHeaderReceiveDurationMs", "OriginResponseStatus", "OriginResponseTime",
      "OriginTCPHandshakeDurationMs", "OriginTLSHandshakeDurationMs", "SmartRouteColoID", "UpperTierColoID",
      "WAFAttackScore", "WAFRCEAttackScore", "WAFSQLiAttackScore", "WAFXSSAttackScore", "WorkerCPUTime",
      "WorkerSubrequestCount", "WorkerWallTimeUs",
    ],
    float: ["EdgeResponseCompressionRatio"],
    bool: ["CacheReserveUsed", "CacheTieredFill", "EdgeCFConnectingO2O", "WorkerSubrequest"],
    "int or string": ["EdgeEndTimestamp", "EdgeStartTimestamp"],
    "array[string]": [
      "BotDetectionTags", "BotTags", "ContentScanObjResults", "ContentScanObjTypes", "FraudDetectionTags",
      "SecurityActions", "SecurityRuleIDs", "SecuritySources", "WAFRequestSignatureCategories",
      "WAFRequestSignatureRefs", "WebAssetsLabelsManaged",
    ],
    "array[int]": ["BotDetectionIDs", "ContentScanObjSizes", "FraudDetectionIDs"],
    object: ["AISecurityCustomTopicCategories", "Cookies", "JA4Signals", "RequestHeaders", "ResponseHeaders"],
  },
  firewall_events: {
    string: [
      "Action", "ClientASNDescription", "ClientCountry", "ClientIP", "ClientIPClass", "ClientRefererHost",
      "ClientRefererPath", "ClientRefererQuery", "ClientRefererScheme", "ClientRequestHost", "ClientRequestMethod",
      "ClientRequestPath", "ClientRequestProtocol", "ClientRequestQuery", "ClientRequestScheme",
      "ClientRequestUserAgent", "Description", "EdgeColoCode", "FraudUserID", "Kind", "LeakedCredentialCheckResult",
      "OriginatorRayID", "RayID", "Ref", "RuleID", "Source", "ZoneName",
    ],
    int: [
      "AISecurityInjectionScore", "AISecurityTokenCount", "ClientASN", "EdgeResponseStatus",
      "FirewallForAIInjectionScore", "FirewallForAITokenCount", "MatchIndex", "OriginResponseStatus",
    ],
    "int or string": ["Datetime"],
    "array[string]": [
      "AISecurityPIICategories", "AISecurityUnsafeTopicCategories", "ContentScanObjResults", "ContentScanObjTypes",
      "FirewallForAIPIICategories", "FirewallForAIUnsafeTopicCategories", "WAFRequestSignatureCategories",
      "WAFRequestSignatureRefs",
    ],
    "array[int]": ["ContentScanObjSizes"],
    object: ["AISecurityCustomTopicCategories", "Metadata"],
  },
  dns_logs: {
    string: ["ColoCode", "EDNSSubnet", "QueryName", "SourceIP"],
    int: ["EDNSSubnetLength", "QueryType", "ResponseCode"],
    bool: ["ResponseCached"],
    "int or string": ["Timestamp"],
  },
  nel_reports: {
    string: ["ClientIPASNDescription", "ClientIPCountry", "LastKnownGoodColoCode", "Phase", "Type"],
    int: ["ClientIPASN"],
    "int or string": ["Timestamp"],
  },
  spectrum_events: {
    string: [
      "Application", "ClientCountry", "ClientIP", "ClientMatchedIpFirewall", "ClientProto", "ClientTlsCipher",
      "ClientTlsClientHelloServerName", "ClientTlsProtocol", "ClientTlsStatus", "ColoCode", "Event", "OriginIP",
      "OriginProto", "OriginTlsCipher", "OriginTlsFingerprint", "OriginTlsMode", "OriginTlsProtocol", "OriginTlsStatus",
      "ProxyProtocol",
    ],
    int: [
      "ClientAsn", "ClientBytes", "ClientPort", "ClientTcpRtt", "OriginBytes", "OriginPort", "OriginTcpRtt", "Status",
    ],
    bool: ["IpFirewall"],
    "int or string": ["ConnectTimestamp", "DisconnectTimestamp", "Timestamp"],
  },
  page_shield_events: {
    string: ["Action", "CSPDirective", "Host", "PageURL", "PolicyID", "ResourceType", "URL", "URLHost"],
    bool: ["URLContainsCDNCGIPath"],
    "int or string": ["Timestamp"],
  },
  zaraz_events: {
    string: ["EventType", "IP", "URL"],
    "int or string": ["TimestampStart"],
    object: ["Body", "EventDetails", "RequestHeaders"],
  },
  audit_logs: {
    string: [
      "ActionType", "ActorEmail", "ActorID", "ActorIP", "ActorType", "ID", "Interface", "OwnerID", "ResourceID",
      "ResourceType",
    ],
    bool: ["ActionResult"],
    "int or string": ["When"],
    object: ["Metadata", "NewValue", "OldValue"],
  },
  workers_trace_events: {
    string: ["DispatchNamespace", "Entrypoint", "EventType", "Outcome", "ScriptName"],
    int: ["CPUTimeMs", "EventTimestampMs", "WallTimeMs"],
    "array[string]": ["ScriptTags"],
    "array[object]": ["Exceptions", "Logs"],
    object: ["Event", "ScriptVersion"],
  },
} as const satisfies Readonly<Record<string, Partial<Readonly<Record<FieldType, readonly string[]>>>>>;

type Tables = typeof DATASET_FIELDS;
type NamesIn<Table, Type extends FieldType> =
  Table extends Readonly<Partial<Record<Type, readonly (infer Name)[]>>> ? Name : never;

/** The names of the fields that have this type in at least one documented dataset. */
export type FieldsOfType<Type extends FieldType> = {
  [D in keyof Tables]: Type extends keyof Tables[D] ? NamesIn<Pick<Tables[D], Type>, Type> : never;
}[keyof Tables] &
  string;

/** The names of all documented fields. */
export type KnownField = { [Type in FieldType]: FieldsOfType<Type> }[FieldType];

/**
 * Fields that filters can't use, regardless of their type:
 * https://developers.cloudflare.com/logs/logpush/logpush-job/filters/.
 */
const NOT_FILTERABLE: Readonly<Record<string, readonly string[]>> = {
  firewall_events: [
    "Action",
    "Description",
    "Kind",
    "MatchIndex",
    "Metadata",
    "OriginatorRayID",
    "RuleID",
    "Source",
  ],
};

export function isFilterable(dataset: string, field: string): boolean {
  return ownMember(NOT_FILTERABLE, dataset)?.includes(field) !== true;
}

const TYPES = new Map(
  Object.entries(DATASET_FIELDS).map(([dataset, byType]) => [
    dataset,
    new Map(
      Object.entries(byType).flatMap(([type, names]: [string, readonly string[]]) =>
        names.map((name): [string, FieldType] => [name, type as FieldType]),
      ),
    ),
  ]),
);

/** Returns a dataset's documented fields. Undefined if only the API lists them. */
export function documentedFields(dataset: string): ReadonlyMap<string, FieldType> | undefined {
  return TYPES.get(dataset);
}

/** Returns each documented dataset with its fields and their types. */
export function documentedDatasets(): readonly (readonly [string, ReadonlyMap<string, FieldType>])[] {
  return [...TYPES];
}

/** Maps the fields that the API lists to their types. If the API doesn't say, uses the documented type. */
export function typesOf(
  dataset: string,
  listed: readonly { readonly name: string; readonly type: FieldType | undefined }[],
): ReadonlyMap<string, FieldType | undefined> {
  const documented = documentedFields(dataset);
  return new Map(listed.map(({ name, type }) => [name, type ?? documented?.get(name)]));
}

/** Returns every type that a field has in the documented datasets; none for an unknown field. */
export function documentedTypes(field: string): readonly FieldType[] {
  return [...TYPES.values()].flatMap((types) => types.get(field) ?? []);
}

/** Reads the type at the start of Cloudflare's description of a field, as in `int; HTTP status code …`. */
export function typeInText(text: string): FieldType | undefined {
  const word = text.split(";", 1)[0]?.trim() ?? "";
  return FIELD_TYPES.find((type) => type === word);
}

/** The datasets of Cloudflare's official SDK, by what they belong to. Cloudflare may have more. */
// prettier-ignore
const SCOPES = {
  zone: [
    "account_abuse_protection_events", "dns_logs", "http_requests", "nel_reports", "page_shield_events",
    "spectrum_events", "zaraz_events",
  ],
  account: [
    "access_requests", "audit_logs", "audit_logs_v2", "biso_user_actions", "casb_findings", "device_posture_results",
    "dex_application_tests", "dex_device_state_events", "dlp_forensic_copies", "dns_firewall_logs",
    "email_security_alerts", "email_security_post_delivery_events", "gateway_dns", "gateway_http", "gateway_network",
    "ipsec_logs", "magic_bgp_logs", "magic_ids_detections", "mcp_portal_logs", "mnm_flow_logs",
    "network_analytics_logs", "sinkhole_http_logs", "ssh_logs", "turnstile_events", "warp_config_changes",
    "warp_toggle_changes", "workers_trace_events", "zero_trust_network_sessions",
  ],
  both: ["firewall_events", "websocket_analytics"],
} as const;

/** A dataset that this package knows. */
export type Dataset = (typeof SCOPES)[keyof typeof SCOPES][number];

export const DATASETS: readonly Dataset[] = Object.values(SCOPES).flat().sort();

/** Whether Cloudflare documents the dataset for zones or accounts. Undefined if this package doesn't know it. */
export function isDocumentedFor(dataset: string, scope: Scope["kind"]): boolean | undefined {
  const has = (of: keyof typeof SCOPES): boolean => SCOPES[of].some((each) => each === dataset);
  if (!DATASETS.some((each) => each === dataset)) return undefined;
  return has(scope) || has("both");
}
