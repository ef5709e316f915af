import { ownMember } from "../basics/json";
import { general } from "./judges/general";
import { namespaceData, overwrittenKeys, ownKeysRemoved, prunedKeys } from "./judges/kv";
import { logpush, transformer } from "./judges/logpush";
import { managed } from "./judges/managed-ruleset";
import { migration } from "./judges/migration";
import * as pageShield from "./judges/page-shield";
import type { Judge } from "./judges/sides";
import { stoppedTraffic } from "./judges/traffic";
import { unseen } from "./judges/unseen";

/**
 * The functions that find the dangers of changing an argument, by class and path. In a path, `[]` is a list element and
 * `{}` a record's value. The table covers every argument of every resource; a test fails if one is missing. An argument
 * has none if it only prevents something (`adopt`, `maxDeletes`) or determines what a later destroy does, because that
 * effect is reported when it happens.
 */
export const JUDGES: Readonly<Record<string, Readonly<Record<string, readonly Judge[]>>>> = {
  PageShieldSettings: {
    zoneId: [pageShield.settings.monitor],
    enabled: [pageShield.settings.monitor],
    useReportingEndpoint: [pageShield.settings.reportingEndpoint],
    useConnectionUrlPath: [pageShield.settings.connectionPaths],
    onDestroy: [],
  },
  PageShieldPolicy: {
    zoneId: [pageShield.policy.stops],
    description: [],
    action: [pageShield.policy.stops, pageShield.policyBlocks],
    expression: [pageShield.policy.pages, pageShield.policyBlocks],
    enabled: [pageShield.policy.stops, pageShield.policyBlocks],
    value: [pageShield.policy.sources, pageShield.policyBlocks],
    adopt: [],
    extra: [pageShield.policy.extra],
  },
  ManagedRulesetOverride: {
    zoneId: [managed.stopsActing],
    accountId: [managed.rules, managed.stopsActing],
    phase: [managed.stopsActing],
    ruleset: [managed.rules],
    version: [managed.rules],
    expression: [managed.requests],
    description: [],
    enabled: [managed.stopsActing],
    ref: [],
    position: [managed.position],
    "owasp.paranoiaLevel": [managed.rules],
    "owasp.scoreThreshold": [managed.rules],
    "owasp.action": [managed.rules],
    "categories[].tag": [managed.rules],
    "categories[].enabled": [managed.rules],
    "categories[].action": [managed.rules],
    "rules{}.enabled": [managed.rules],
    "rules{}.action": [managed.rules],
    "rules{}.scoreThreshold": [managed.rules],
    action: [managed.rules, stoppedTraffic],
    allRulesEnabled: [managed.rules],
    "matchedData.publicKey": [managed.matchedData],
    "exceptions[].expression": [managed.exceptions],
    "exceptions[].description": [],
    "exceptions[].skip": [managed.exceptions],
    "exceptions[].logging": [managed.logging],
    adopt: [],
    onDestroy: [],
  },
  WafMigration: {
    zoneId: [migration],
    plan: [],
    target: [migration],
    configuration: [migration],
    confirm: [],
    "waitFor.timeout": [],
    quiet: [],
  },
  LogpushJob: {
    zoneId: [logpush.stopsPushing],
    accountId: [logpush.stopsPushing],
    name: [],
    dataset: [logpush.stopsPushing],
    destinationConf: [logpush.destination],
    "outputOptions.fieldNames": [logpush.fields],
    "outputOptions.sampleRate": [logpush.sampleRate],
    "outputOptions.timestampFormat": [],
    "outputOptions.outputType": [],
    "outputOptions.batchPrefix": [],
    "outputOptions.batchSuffix": [],
    "outputOptions.recordPrefix": [],
    "outputOptions.recordSuffix": [],
    "outputOptions.recordTemplate": [logpush.fields],
    "outputOptions.recordDelimiter": [],
    "outputOptions.fieldDelimiter": [],
    "outputOptions.mergeSubrequests": [logpush.subrequests],
    "outputOptions.cve202144228": [logpush.log4shell],
    "outputOptions.stringifyObject": [],
    "outputOptions.extra": [logpush.extra],
    filter: [logpush.filter],
    filterChecks: [],
    enabled: [logpush.stopsPushing],
    frequency: [],
    maxUploadBytes: [],
    maxUploadIntervalSeconds: [],
    maxUploadRecords: [],
    filterAttackTraffic: [logpush.attackTraffic],
    transformerId: [logpush.transformer],
    kind: [logpush.stopsPushing],
    ownershipChallenge: [],
    adopt: [],
    extra: [logpush.extra],
  },
  LogpushTransformer: {
    // Cloudflare refuses to delete a transformer that an active job uses.
    accountId: [],
    name: [],
    description: [],
    code: [transformer.code],
    adopt: [],
  },
  KvNamespace: {
    accountId: [namespaceData],
    title: [],
    preview: [],
    jurisdiction: [namespaceData],
    adopt: [],
    forceDestroy: [namespaceData],
  },
  KvEntries: {
    accountId: [general],
    namespaceId: [general],
    entries: [ownKeysRemoved, overwrittenKeys],
    file: [ownKeysRemoved, overwrittenKeys],
    directory: [ownKeysRemoved, overwrittenKeys],
    "defaults.metadata": [],
    "defaults.expirationTtl": [ownKeysRemoved],
    adopt: [],
    "prune.prefix": [prunedKeys],
    "prune.maxDeletes": [],
    maxOwnDeletes: [],
    verify: [],
  },
};

/**
 * Returns the functions that find dangers for this class. For other providers' resources, that's only the general one.
 */
export function judgesOf(kind: string | undefined): readonly Judge[] {
  const rows = Object.values(ownMember(JUDGES, kind ?? "") ?? {});
  return [...new Set([...rows.flat(), ...(rows.length === 0 ? [] : [unseen]), general])];
}

/** Lists this class's arguments. */
export function argumentsOf(kind: string | undefined): readonly string[] {
  const paths = Object.keys(ownMember(JUDGES, kind ?? "") ?? {});
  return [...new Set(paths.map((path) => path.replace(/[.[{].*$/, "")))];
}

/** Computed inputs that stand for arguments that the plan hides. */
export const SHOWN: Readonly<Record<string, string>> = {
  destinationConf: "destinationShown",
  code: "codeDigest",
};
