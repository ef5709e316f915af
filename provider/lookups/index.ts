export {
  getPageShieldPolicies,
  getPageShieldPoliciesOutput,
  getPageShieldPolicy,
  getPageShieldPolicyOutput,
  getPageShieldSettings,
  getPageShieldSettingsOutput,
  type PageShieldPolicyState,
  type PageShieldSettingsState,
  type PolicyLookupArgs,
  type ZoneArgs,
} from "./configured";
export {
  getConnection,
  getConnectionOutput,
  getConnections,
  getConnectionsOutput,
  type Connection,
  type ConnectionArgs,
} from "./connections";
export {
  getCookie,
  getCookieOutput,
  getCookies,
  getCookiesOutput,
  type Cookie,
  type CookieArgs,
} from "./cookies";
export {
  readDetections,
  saveDetections,
  type DetectionKind,
  type Detections,
  type SaveDetectionsOptions,
  type SeenScript,
} from "./detections";
export {
  getKvKeys,
  getKvKeysOutput,
  getKvMetadata,
  getKvMetadataOutput,
  getKvNamespaceByTitle,
  getKvNamespaceByTitleOutput,
  getKvNamespaces,
  getKvNamespacesOutput,
  getKvValue,
  getKvValueOutput,
  type KvKey,
  type KvKeyArgs,
  type KvKeysArgs,
  type KvNamespaceByTitleArgs,
  type KvNamespaceState,
  type KvNamespacesArgs,
  type KvValueArgs,
} from "./kv";
export type {
  DetectedFilters,
  DetectedList,
  DetectedListArgs,
  FilterValue,
  Inputs,
  Known,
  PageInfo,
  RecordStatus,
} from "./list";
export {
  getLogpushFields,
  getLogpushFieldsOutput,
  getLogpushJobs,
  getLogpushJobsOutput,
  type LogpushFieldState,
  type LogpushFieldsArgs,
  type LogpushJobsArgs,
  type LogpushJobState,
} from "./logpush";
export {
  assertNoMaliciousScripts,
  isMalicious,
  MaliciousScriptsError,
  type AssertNoMaliciousArgs,
  type MaliciousOptions,
  type Scored,
} from "./malicious";
export {
  migrationReadiness,
  migrationReadinessOutput,
  type MigrationReadiness,
  type MigrationReadinessArgs,
  type Readiness,
  type ZoneReadiness,
} from "./migration-readiness";
export { LookupError, type LookupConfig, type LookupOptions } from "./program-api";
export {
  explainZone,
  explainZoneOutput,
  getManagedRuleset,
  getManagedRulesetOutput,
  getManagedRulesets,
  getManagedRulesetsOutput,
  getZoneManagedRules,
  getZoneManagedRulesOutput,
  type ExplainZoneArgs,
  type ManagedRulesetArgs,
  type ManagedRulesetsArgs,
  type ManagedRulesetState,
  type TagSummary,
  type ZoneEntryPoint,
  type ZoneRuleState,
} from "./rulesets";
export {
  scriptSources,
  type LeftOutReason,
  type LeftOutScript,
  type ScriptSources,
  type ScriptSourcesOptions,
} from "./script-sources";
export {
  getScript,
  getScriptOutput,
  getScripts,
  getScriptsOutput,
  type Script,
  type ScriptArgs,
  type ScriptContent,
} from "./scripts";
