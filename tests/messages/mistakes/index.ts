import { COMMON } from "./common";
import { KV_ENTRIES } from "./kv-entries";
import { KV_NAMESPACE } from "./kv-namespace";
import { LOGPUSH_JOB } from "./logpush-job";
import { LOGPUSH_TRANSFORMER } from "./logpush-transformer";
import { MANAGED_RULESET_OVERRIDE } from "./managed-ruleset-override";
import { PAGE_SHIELD_POLICY } from "./page-shield-policy";
import { PAGE_SHIELD_SETTINGS } from "./page-shield-settings";
import type { ResourceName } from "../../support/permissions-markdown";
import type { Mistake } from "./play";
import { WAF_MIGRATION } from "./waf-migration";

export { type Mistake, type Played, playMistake } from "./play";
export type { ResourceName };
export { COMMON };

/** The most likely mistakes, by resource. */
export const MISTAKES: Readonly<Record<ResourceName, readonly Mistake[]>> = {
  PageShieldSettings: PAGE_SHIELD_SETTINGS,
  PageShieldPolicy: PAGE_SHIELD_POLICY,
  ManagedRulesetOverride: MANAGED_RULESET_OVERRIDE,
  WafMigration: WAF_MIGRATION,
  LogpushJob: LOGPUSH_JOB,
  LogpushTransformer: LOGPUSH_TRANSFORMER,
  KvNamespace: KV_NAMESPACE,
  KvEntries: KV_ENTRIES,
};
