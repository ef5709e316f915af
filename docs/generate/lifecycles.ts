import { kvEntries } from "../../provider/kv/kv-entries";
import { kvNamespace } from "../../provider/kv/kv-namespace";
import { logpushJob } from "../../provider/logpush/logpush-job";
import { logpushTransformer } from "../../provider/logpush/logpush-transformer";
import { wafMigration } from "../../provider/migration/waf-migration";
import { pageShieldPolicy } from "../../provider/page-shield/policy";
import { pageShieldSettings } from "../../provider/page-shield/settings";
import { managedRulesetOverride } from "../../provider/rulesets/managed-ruleset-override";
import type { ResourceName } from "../../tests/support/permissions-markdown";

/** What a lifecycle says that no docstring does. */
export interface LifecycleFacts {
  readonly compositeId: { readonly forms: readonly string[] };
  readonly args: { readonly shape: object };
  readonly replaceOn: readonly string[];
  readonly secret?: object;
  readonly computed: { readonly shape: object };
  readonly secretOutputs?: readonly string[];
}

/** Every resource, in the order of the reference. */
export const LIFECYCLES: Readonly<Record<ResourceName, LifecycleFacts>> = {
  PageShieldSettings: pageShieldSettings.verbs.facts,
  PageShieldPolicy: pageShieldPolicy.verbs.facts,
  ManagedRulesetOverride: managedRulesetOverride.verbs.facts,
  WafMigration: wafMigration.verbs.facts,
  LogpushJob: logpushJob.verbs.facts,
  LogpushTransformer: logpushTransformer.verbs.facts,
  KvNamespace: kvNamespace.verbs.facts,
  KvEntries: kvEntries.verbs.facts,
};
