import "./runtime/node-version";

export { KvEntries, type KvEntriesArgs, type KvEntryArgs } from "./kv/kv-entries";
export { KvNamespace, type KvNamespaceArgs } from "./kv/kv-namespace";
export { LogpushJob, type LogpushJobArgs } from "./logpush/logpush-job";
export { LogpushTransformer, type LogpushTransformerArgs } from "./logpush/logpush-transformer";
export { ManagedRulesetOverride, type ManagedRulesetOverrideArgs } from "./rulesets/managed-ruleset-override";
export { PageShieldPolicy, type PageShieldPolicyArgs } from "./page-shield/policy";
export {
  PageShieldSettings,
  type PageShieldSettingsArgs,
  type PageShieldValues,
} from "./page-shield/settings";
export { ProtectedZone, type ProtectedZoneArgs } from "./protected-zone";
export { WafMigration, type WafMigrationArgs } from "./migration/waf-migration";
export type { EntriesImpact } from "./kv/impact";
export type { MigrationImpact } from "./migration/impact";
export type { PolicyImpact, SettingsImpact, WouldBlock } from "./page-shield/impact";
export type { ComparedRules, RulesetImpact } from "./rulesets/impact";
export type { ImpactRecord, Listed } from "./runtime/impact";
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
export type {
  CategoryOverrideArgs,
  ExceptionArgs,
  Owasp,
  OwaspArgs,
  RuleOverrideArgs,
} from "./rulesets/arguments";
export type { PreviousRule } from "./rulesets/deployment";
export type { SkipArgs } from "./rulesets/skip";
export type { RulesetExpansion } from "./rulesets/effective";
export type { VersionChange, VersionRule } from "./rulesets/compare-versions";
export type { ExplainedDeployment, ExplainedRule, ZoneExplanation } from "./rulesets/explain";
export type { ExplainedException } from "./rulesets/skip-rules";
export type { ManagedRule, ManagedRuleset, ManagedRulesetInfo, Overrides, Skip } from "./rulesets/wire";
export * from "./kv/lookups";
export * from "./logpush/lookups";
export * from "./migration/readiness";
export {
  assertScriptInventory,
  checkScriptInventory,
  ScriptInventoryError,
  type AssertScriptInventoryArgs,
  type CheckScriptInventoryArgs,
} from "./page-shield/inventory/check";
export {
  readScriptInventory,
  type InventoryEntry,
  type ScriptApproval,
  type ScriptInventory,
} from "./page-shield/inventory/file";
export type {
  ApprovalState,
  CheckedScript,
  CheckedZone,
  ContentState,
  FindingKind,
  InventoriedScript,
  InventoryCheck,
  InventoryFinding,
  InventoryNotice,
  NoticeKind,
  RequirementStanding,
} from "./page-shield/inventory/model";
export {
  inventorySources,
  type InventorySources,
  type InventorySourcesOptions,
} from "./page-shield/inventory/sources";
export * from "./page-shield/lookups";
export * from "./page-shield/malicious";
export * from "./page-shield/records";
export * from "./page-shield/script-sources";
export * from "./rulesets/lookups";
export {
  LookupError,
  type Inputs,
  type LookupConfig,
  type LookupOptions,
  type ZoneArgs,
} from "./runtime/lookup";
export { Provider, type ProviderArgs } from "./runtime/provider";
export type { Adopted } from "./runtime/adopted";
export type { Change, Changes } from "./runtime/changes";
export type { Adopt, LiteralUnion } from "./runtime/fields";
export { explainError, type ErrorToExplain } from "./api/explain";
export * from "./workers-limits/check";
export * as limits from "./limits";
