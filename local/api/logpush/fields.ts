/** Field types as Cloudflare names them. "int or string" is a timestamp, in the job's format. */
export const fieldTypes = [
  "string",
  "int",
  "float",
  "bool",
  "int or string",
  "object",
  "array[string]",
  "array[int]",
  "array[object]",
] as const;

export type FieldType = (typeof fieldTypes)[number];

/** The fields of a dataset, listed by name. */
export type Fields = ReadonlyMap<string, FieldType>;

/** Converts field names, separated by spaces and grouped by type. */
function list(byType: Partial<Record<FieldType, string>>): Fields {
  return byName(
    fieldTypes.flatMap((type) => (byType[type]?.split(/\s+/) ?? []).map((name) => [name, type] as const)),
  );
}

/** Returns a dataset's fields with `changes` applied. Null removes a field. */
export function withChanges(fields: Fields, changes: Readonly<Record<string, FieldType | null>>): Fields {
  const all = Object.entries({ ...Object.fromEntries(fields), ...changes });
  return byName(all.filter((each): each is [string, FieldType] => each[1] !== null));
}

function byName(fields: readonly (readonly [string, FieldType])[]): Fields {
  return new Map([...fields].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const httpRequests = list({
  string: `BotScoreSrc CacheCacheStatus ClientCity ClientCountry ClientDeviceType ClientIP ClientIPClass ClientLatitude
    ClientLongitude ClientMTLSAuthCertFingerprint ClientMTLSAuthStatus ClientRegionCode ClientRequestHost
    ClientRequestMethod ClientRequestPath ClientRequestProtocol ClientRequestReferer ClientRequestScheme
    ClientRequestSource ClientRequestURI ClientRequestUserAgent ClientSSLCipher ClientSSLProtocol
    ClientTLSKeyExchangeGroup ClientXRequestedWith
    EdgeColoCode EdgePathingOp EdgePathingSrc EdgePathingStatus EdgeRequestHost EdgeResponseContentType EdgeServerIP
    FraudAttack FraudEmailRisk FraudUserID JA3Hash JA4 JSDetectionPassed LeakedCredentialCheckResult OriginIP
    OriginResponseHTTPExpires OriginResponseHTTPLastModified OriginSSLProtocol OriginTLSKeyExchangeGroup ParentRayID PayPerCrawlStatus RayID
    SecurityAction SecurityRuleDescription SecurityRuleID VerifiedBotCategory WAFFlags WAFMatchedVar
    WebAssetsOperationID WorkerScriptName WorkerStatus ZoneName`,
  int: `BotScore CacheResponseBytes CacheResponseStatus ClientASN ClientRequestBytes ClientSrcPort ClientTCPRTTMs
    EdgeColoID EdgeResponseBodyBytes EdgeResponseBytes EdgeResponseStatus EdgeTimeToFirstByteMs
    OriginDNSResponseTimeMs OriginRequestHeaderSendDurationMs OriginResponseBytes OriginResponseDurationMs
    OriginResponseHeaderReceiveDurationMs OriginResponseStatus OriginResponseTime OriginTCPHandshakeDurationMs
    OriginTLSHandshakeDurationMs SmartRouteColoID UpperTierColoID WAFAttackScore WAFRCEAttackScore WAFSQLiAttackScore
    WAFXSSAttackScore WorkerCPUTime WorkerSubrequestCount WorkerWallTimeUs`,
  float: "EdgeResponseCompressionRatio",
  bool: "CacheReserveUsed CacheTieredFill EdgeCFConnectingO2O WorkerSubrequest",
  "int or string": "EdgeEndTimestamp EdgeStartTimestamp",
  object: "AISecurityCustomTopicCategories Cookies JA4Signals RequestHeaders ResponseHeaders",
  "array[string]": `BotDetectionTags BotTags ContentScanObjResults ContentScanObjTypes FraudDetectionTags
    SecurityActions SecurityRuleIDs SecuritySources WAFRequestSignatureCategories WAFRequestSignatureRefs
    WebAssetsLabelsManaged`,
  "array[int]": "BotDetectionIDs ContentScanObjSizes FraudDetectionIDs",
});

export const firewallEvents = list({
  string: `Action ClientASNDescription ClientCountry ClientIP ClientIPClass ClientRefererHost ClientRefererPath
    ClientRefererQuery ClientRefererScheme ClientRequestHost ClientRequestMethod ClientRequestPath
    ClientRequestProtocol ClientRequestQuery ClientRequestScheme ClientRequestUserAgent Description EdgeColoCode
    FraudUserID Kind LeakedCredentialCheckResult OriginatorRayID RayID Ref RuleID Source ZoneName`,
  int: `AISecurityInjectionScore AISecurityTokenCount ClientASN EdgeResponseStatus FirewallForAIInjectionScore
    FirewallForAITokenCount MatchIndex OriginResponseStatus`,
  "int or string": "Datetime",
  object: "AISecurityCustomTopicCategories Metadata",
  "array[string]": `AISecurityPIICategories AISecurityUnsafeTopicCategories ContentScanObjResults ContentScanObjTypes
    FirewallForAIPIICategories FirewallForAIUnsafeTopicCategories`,
  "array[int]": "ContentScanObjSizes",
});

export const dnsLogs = list({
  string: "ColoCode EDNSSubnet QueryName SourceIP",
  int: "EDNSSubnetLength QueryType ResponseCode",
  bool: "ResponseCached",
  "int or string": "Timestamp",
});

export const auditLogs = list({
  string: `ActionType ActorEmail ActorID ActorIP ActorType ID Interface OwnerID ResourceID ResourceType`,
  bool: "ActionResult",
  "int or string": "When",
  object: "Metadata NewValue OldValue",
});

export const workersTraceEvents = list({
  string: "DispatchNamespace Entrypoint EventType Outcome ScriptName",
  int: "CPUTimeMs EventTimestampMs WallTimeMs",
  object: "Event ScriptVersion",
  "array[string]": "ScriptTags",
  "array[object]": "Exceptions Logs",
});

/**
 * The possible values of some fields. They apply to every dataset that has the field, or only to the dataset named
 * before the dot.
 */
const values: Readonly<Record<string, readonly string[]>> = {
  BotScoreSrc: ["Not Computed", "Heuristics", "Machine Learning", "Verified Bot"],
  CacheCacheStatus: ["hit", "miss", "dynamic", "bypass", "expired", "revalidated"],
  ClientDeviceType: ["desktop", "mobile", "tablet"],
  ClientIPClass: ["noRecord", "searchEngine", "monitoringService", "scan", "tor", "badHost"],
  ClientRequestMethod: ["GET", "POST", "HEAD", "PUT", "DELETE"],
  ClientRequestScheme: ["https", "http"],
  ClientSSLProtocol: ["TLSv1.3", "TLSv1.2", "none"],
  "workers_trace_events.EventType": ["fetch", "scheduled", "alarm", "queue", "email"],
  "workers_trace_events.Outcome": ["ok", "canceled", "exception", "unknown"],
};

/** Returns a field's possible values, if known. Its description lists them. */
export function valuesOf(dataset: string, field: string): readonly string[] | undefined {
  return values[`${dataset}.${field}`] ?? values[field];
}
