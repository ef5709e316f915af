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
 * How changing an argument can affect protection. The table covers every argument of every resource; a test fails if
 * one is missing. `raises` and `lowers` are the effect of setting or increasing the argument; `depends` means that it
 * depends on the values. Every effect other than `neutral` lists the functions that find the dangers. An argument is
 * neutral if it only prevents something (`adopt`, `maxDeletes`) or determines what a later destroy does, because that
 * effect is reported when it happens.
 */
export interface Effect {
  readonly is: "raises" | "lowers" | "depends" | "neutral";
  readonly judges: readonly Judge[];
}

const neutral: Effect = { is: "neutral", judges: [] };
const raises = (...judges: readonly Judge[]): Effect => ({ is: "raises", judges });
const lowers = (...judges: readonly Judge[]): Effect => ({ is: "lowers", judges });
const depends = (...judges: readonly Judge[]): Effect => ({ is: "depends", judges });

/** The effects by class and path. In a path, `[]` is a list element and `{}` a record's value. */
export const EFFECTS: Readonly<Record<string, Readonly<Record<string, Effect>>>> = {
  PageShieldSettings: {
    zoneId: depends(pageShield.settings.monitor),
    enabled: raises(pageShield.settings.monitor),
    useReportingEndpoint: raises(pageShield.settings.reportingEndpoint),
    useConnectionUrlPath: raises(pageShield.settings.connectionPaths),
    onDestroy: neutral,
  },
  PageShieldPolicy: {
    zoneId: depends(pageShield.policy.stops),
    description: neutral,
    action: depends(pageShield.policy.stops, pageShield.policyBlocks),
    expression: depends(pageShield.policy.pages, pageShield.policyBlocks),
    enabled: raises(pageShield.policy.stops, pageShield.policyBlocks),
    value: depends(pageShield.policy.sources, pageShield.policyBlocks),
    adopt: neutral,
    extra: depends(pageShield.policy.extra),
  },
  ManagedRulesetOverride: {
    zoneId: depends(managed.stopsActing),
    accountId: depends(managed.rules, managed.stopsActing),
    phase: depends(managed.stopsActing),
    ruleset: depends(managed.rules),
    version: depends(managed.rules),
    expression: depends(managed.requests),
    description: neutral,
    enabled: raises(managed.stopsActing),
    ref: neutral,
    position: depends(managed.position),
    "owasp.paranoiaLevel": raises(managed.rules),
    "owasp.scoreThreshold": lowers(managed.rules),
    "owasp.action": depends(managed.rules),
    "categories[].tag": depends(managed.rules),
    "categories[].enabled": raises(managed.rules),
    "categories[].action": depends(managed.rules),
    "rules{}.enabled": raises(managed.rules),
    "rules{}.action": depends(managed.rules),
    "rules{}.scoreThreshold": lowers(managed.rules),
    action: depends(managed.rules, stoppedTraffic),
    allRulesEnabled: raises(managed.rules),
    "matchedData.publicKey": depends(managed.matchedData),
    "exceptions[].expression": lowers(managed.exceptions),
    "exceptions[].description": neutral,
    "exceptions[].skip": lowers(managed.exceptions),
    "exceptions[].logging": raises(managed.logging),
    adopt: neutral,
    onDestroy: neutral,
  },
  WafMigration: {
    zoneId: depends(migration),
    plan: neutral,
    target: depends(migration),
    configuration: depends(migration),
    confirm: neutral,
    "waitFor.timeout": neutral,
    quiet: neutral,
  },
  LogpushJob: {
    zoneId: depends(logpush.stopsPushing),
    accountId: depends(logpush.stopsPushing),
    name: neutral,
    dataset: depends(logpush.stopsPushing),
    destinationConf: depends(logpush.destination),
    "outputOptions.fieldNames": raises(logpush.fields),
    "outputOptions.sampleRate": raises(logpush.sampleRate),
    "outputOptions.timestampFormat": neutral,
    "outputOptions.outputType": neutral,
    "outputOptions.batchPrefix": neutral,
    "outputOptions.batchSuffix": neutral,
    "outputOptions.recordPrefix": neutral,
    "outputOptions.recordSuffix": neutral,
    "outputOptions.recordTemplate": depends(logpush.fields),
    "outputOptions.recordDelimiter": neutral,
    "outputOptions.fieldDelimiter": neutral,
    "outputOptions.mergeSubrequests": lowers(logpush.subrequests),
    "outputOptions.cve202144228": raises(logpush.log4shell),
    "outputOptions.stringifyObject": neutral,
    "outputOptions.extra": depends(logpush.extra),
    filter: depends(logpush.filter),
    filterChecks: neutral,
    enabled: raises(logpush.stopsPushing),
    frequency: neutral,
    maxUploadBytes: neutral,
    maxUploadIntervalSeconds: neutral,
    maxUploadRecords: neutral,
    filterAttackTraffic: lowers(logpush.attackTraffic),
    transformerId: depends(logpush.transformer),
    kind: depends(logpush.stopsPushing),
    ownershipChallenge: neutral,
    adopt: neutral,
    extra: depends(logpush.extra),
  },
  LogpushTransformer: {
    // Cloudflare refuses to delete a transformer that a job uses.
    accountId: neutral,
    name: neutral,
    description: neutral,
    code: depends(transformer.code),
    adopt: neutral,
  },
  KvNamespace: {
    accountId: depends(namespaceData),
    title: neutral,
    preview: neutral,
    jurisdiction: depends(namespaceData),
    adopt: neutral,
    forceDestroy: lowers(namespaceData),
  },
  KvEntries: {
    accountId: depends(general),
    namespaceId: depends(general),
    entries: depends(ownKeysRemoved, overwrittenKeys),
    file: depends(ownKeysRemoved, overwrittenKeys),
    directory: depends(ownKeysRemoved, overwrittenKeys),
    "defaults.metadata": neutral,
    "defaults.expirationTtl": depends(ownKeysRemoved),
    adopt: neutral,
    "prune.prefix": lowers(prunedKeys),
    "prune.maxDeletes": neutral,
    maxOwnDeletes: neutral,
    verify: neutral,
  },
};

/**
 * Returns the functions that find dangers for this class. For other providers' resources, that's only the general one.
 */
export function judgesOf(kind: string | undefined): readonly Judge[] {
  const rows = Object.values(ownMember(EFFECTS, kind ?? "") ?? {});
  return [
    ...new Set([...rows.flatMap(({ judges }) => judges), ...(rows.length === 0 ? [] : [unseen]), general]),
  ];
}

/** Lists this class's arguments. */
export function argumentsOf(kind: string | undefined): readonly string[] {
  const paths = Object.keys(ownMember(EFFECTS, kind ?? "") ?? {});
  return [...new Set(paths.map((path) => path.replace(/[.[{].*$/, "")))];
}

/** Computed inputs that stand for arguments that the plan hides. */
export const SHOWN: Readonly<Record<string, string>> = {
  destinationConf: "destinationShown",
  code: "codeDigest",
};
