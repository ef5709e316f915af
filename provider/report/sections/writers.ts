import { ownMember } from "../../basics/json";
import { PlanError } from "../plan";
import { kvEntries, kvNamespace } from "./kv";
import { logpushJob, logpushTransformer } from "./logpush";
import { managedRuleset } from "./managed-ruleset";
import { pageShieldPolicy, pageShieldSettings } from "./page-shield";
import type { SectionWriter } from "./section";
import { wafMigration } from "./waf-migration";

/** The section writer for each kind of resource. The report fails if a kind is missing here. */
const SECTION_WRITERS: Readonly<Record<string, SectionWriter>> = {
  PageShieldSettings: pageShieldSettings,
  PageShieldPolicy: pageShieldPolicy,
  ManagedRulesetOverride: managedRuleset,
  WafMigration: wafMigration,
  LogpushJob: logpushJob,
  LogpushTransformer: logpushTransformer,
  KvNamespace: kvNamespace,
  KvEntries: kvEntries,
};

/** @throws PlanError for a class that this version doesn't know. */
export function sectionWriterOf(kind: string): SectionWriter {
  const writer = ownMember(SECTION_WRITERS, kind);
  if (writer !== undefined) return writer;
  throw new PlanError(
    `the plan contains a ${kind}, which this version of edgeguard doesn't recognize. Install the version that the program uses.`,
  );
}
