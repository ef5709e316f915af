import { kvEntries } from "../../provider/kv/kv-entries";
import { kvNamespace } from "../../provider/kv/kv-namespace";
import { logpushJob } from "../../provider/logpush/logpush-job";
import { logpushTransformer } from "../../provider/logpush/logpush-transformer";
import { wafMigration } from "../../provider/migration/waf-migration";
import { pageShieldPolicy } from "../../provider/page-shield/policy";
import { pageShieldSettings } from "../../provider/page-shield/settings";
import { managedRulesetOverride } from "../../provider/rulesets/managed-ruleset-override";

/** Every resource, in the order of the register. */
export const LIFECYCLES = [
  pageShieldSettings,
  pageShieldPolicy,
  kvNamespace,
  kvEntries,
  logpushJob,
  logpushTransformer,
  managedRulesetOverride,
  wafMigration,
].map(({ verbs }) => verbs.facts);
