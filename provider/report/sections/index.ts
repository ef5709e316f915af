import { kvEntries, kvNamespace } from "./kv";
import { logpushJob } from "./logpush";
import { managedRuleset } from "./managed-ruleset";
import { pageShieldPolicy, pageShieldSettings } from "./page-shield";
import type { Teller } from "./section";
import { wafMigration } from "./waf-migration";

/** How each kind of resource is told; what is not here is refused, not guessed. */
export const TELLERS: Readonly<Record<string, Teller>> = {
  PageShieldSettings: pageShieldSettings,
  PageShieldPolicy: pageShieldPolicy,
  ManagedRulesetOverride: managedRuleset,
  WafMigration: wafMigration,
  LogpushJob: logpushJob,
  KvNamespace: kvNamespace,
  KvEntries: kvEntries,
};
