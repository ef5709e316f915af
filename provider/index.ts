import "./runtime/node-version";

export { KvEntries, type KvEntriesArgs, type KvEntryArgs } from "./kv/kv-entries";
export { KvNamespace, type KvNamespaceArgs } from "./kv/kv-namespace";
export { LogpushJob, type LogpushJobArgs } from "./logpush/logpush-job";
export { ManagedRulesetOverride, type ManagedRulesetOverrideArgs } from "./rulesets/managed-ruleset-override";
export { PageShieldPolicy, type PageShieldPolicyArgs, type WouldBlock } from "./page-shield/policy";
export {
  PageShieldSettings,
  type PageShieldSettingsArgs,
  type PageShieldValues,
} from "./page-shield/settings";
export { WafMigration, type WafMigrationArgs } from "./migration/waf-migration";
export type { Dataset } from "./logpush/dataset-fields";
export * as destination from "./logpush/destination";
export * as filter from "./logpush/filter";
export type { OutputOptions, OutputOptionsArgs } from "./logpush/output-options";
export {
  testFilter,
  type FilterExample,
  type FilterTest,
  type LogLine,
  type LogLines,
  type TestFilterOptions,
} from "./logpush/test-filter";
export type { ConcurrentChange } from "./migration/concurrent";
export type { Finding } from "./migration/findings";
export type { HistoryEntry } from "./migration/record";
export type { CategoryChange, MigrationRule, MigrationRuleParameters, RuleChange } from "./migration/rules";
export type { CategoryOverrideArgs, ExceptionArgs, OwaspArgs, RuleOverrideArgs } from "./rulesets/arguments";
export type { OtherManagedRule } from "./rulesets/entry-point";
export type { RulesetExpansion } from "./rulesets/expansion";
export type {
  ExplainedDeployment,
  ExplainedException,
  ExplainedRule,
  ZoneExplanation,
} from "./rulesets/explain";
export type { ManagedRule, ManagedRuleset, ManagedRulesetInfo, Overrides, Skip } from "./rulesets/wire";
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
} from "./page-shield/configured";
export {
  getConnection,
  getConnectionOutput,
  getConnections,
  getConnectionsOutput,
  type Connection,
  type ConnectionArgs,
} from "./page-shield/connections";
export {
  getCookie,
  getCookieOutput,
  getCookies,
  getCookiesOutput,
  type Cookie,
  type CookieArgs,
} from "./page-shield/cookies";
export {
  readDetections,
  saveDetections,
  type DetectionKind,
  type Detections,
  type SaveDetectionsOptions,
  type SeenScript,
} from "./page-shield/detections";
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
} from "./kv/lookups";
export type {
  DetectedFilters,
  DetectedList,
  DetectedListArgs,
  FilterValue,
  PageInfo,
  RecordStatus,
} from "./page-shield/detected";
export {
  getLogpushFields,
  getLogpushFieldsOutput,
  getLogpushJobs,
  getLogpushJobsOutput,
  type LogpushFieldState,
  type LogpushFieldsArgs,
  type LogpushJobsArgs,
  type LogpushJobState,
} from "./logpush/lookups";
export {
  assertNoMaliciousScripts,
  isMalicious,
  MaliciousScriptsError,
  type AssertNoMaliciousArgs,
  type MaliciousOptions,
  type Scored,
} from "./page-shield/malicious";
export {
  migrationReadiness,
  migrationReadinessOutput,
  type MigrationReadiness,
  type MigrationReadinessArgs,
  type Readiness,
  type ZoneReadiness,
} from "./migration/readiness";
export {
  LookupError,
  type LookupConfig,
  type LookupOptions,
  type ZoneArgs,
  type Inputs,
  type Known,
} from "./runtime/lookup";
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
} from "./rulesets/lookups";
export {
  scriptSources,
  type LeftOutReason,
  type LeftOutScript,
  type ScriptSources,
  type ScriptSourcesOptions,
} from "./page-shield/script-sources";
export {
  getScript,
  getScriptOutput,
  getScripts,
  getScriptsOutput,
  type Script,
  type ScriptArgs,
  type ScriptContent,
} from "./page-shield/scripts";
export { explainError, type ErrorToExplain } from "./api/explain";
export * from "./workers-limits";
export * as limits from "./limits";
