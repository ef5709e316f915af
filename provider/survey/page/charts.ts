import type { CHARTS as Bars, Chart as ChartId, TaskKind, Zone } from "../model";
import { protectionOf } from "../protection";
import { valueOf } from "../readable";

/** The charts: what they count, their labels, and which bars a zone belongs to. */

/** Whether a bar shows something good or bad. Determines its color; its label says the same. */
export type Tone = "good" | "warn" | "bad" | undefined;
type Words<Bar extends string> = Readonly<Record<Bar, readonly [label: string, tone?: Tone]>>;
/** How many of a zone's objects belong to each bar. */
type Counts = Readonly<Record<string, number>>;

export interface Chart {
  readonly id: string;
  readonly title: string;
  /** A noun for what the bars count. */
  readonly unit: string;
  readonly bars: Words<string>;
  readonly of: (zone: Zone) => Counts;
}

export const TASK_WORDS: Words<TaskKind> = {
  maliciousScript: ["Malicious script", "bad"],
  unapprovedScript: ["Unapproved script", "bad"],
  noManagedRuleset: ["No managed ruleset", "bad"],
  readyToMigrate: ["Ready to migrate", "warn"],
  blockingPolicy: ["Policy blocks scripts", "warn"],
  failingJob: ["Failing Logpush job", "warn"],
  owaspOff: ["OWASP off", "warn"],
  pageShieldOff: ["Page Shield off", "warn"],
  blockedMigration: ["Migration blocked", "warn"],
};

const NOT_READABLE = ["Not readable"] as const;
const PERHAPS = ["Depends on the request", "warn"] as const;

const MODEL_WORDS: { readonly [Id in ChartId]: Words<(typeof Bars)[Id][number]> } = {
  pageShield: { on: ["On", "good"], off: ["Off", "warn"], notReadable: NOT_READABLE },
  policies: { enforced: ["Enforced", "good"], logging: ["Logging"], off: ["Off"], other: ["Other"] },
  scripts: { malicious: ["Malicious", "bad"], notScored: ["Not scored", "warn"], other: ["Other"] },
  managedRulesets: {
    on: ["Deployed", "good"],
    perhaps: PERHAPS,
    none: ["None", "bad"],
    notReadable: NOT_READABLE,
  },
  owasp: { on: ["On", "good"], perhaps: PERHAPS, off: ["Off", "warn"], notReadable: NOT_READABLE },
  migration: {
    done: ["Done", "good"],
    ready: ["Ready", "warn"],
    blocked: ["Blocked", "warn"],
    underWay: ["Under way"],
    notCounted: ["Not counted"],
    retired: ["Retired"],
    notReadable: NOT_READABLE,
  },
  jobs: { working: ["Working", "good"], failing: ["Failing", "bad"], new: ["New"], off: ["Off"] },
  managed: { managed: ["In a stack", "good"], unmanaged: ["Not managed", "warn"] },
};

const { pageShield, policies, scripts, managedRulesets, owasp, migration, jobs, managed } = MODEL_WORDS;

export const CHARTS: readonly Chart[] = [
  {
    id: "tasks",
    title: "To do",
    unit: "zone",
    bars: TASK_WORDS,
    of: ({ tasks }) => each(tasks, ({ kind }) => kind),
  },
  {
    id: "pageShield",
    title: "Page Shield",
    unit: "zone",
    bars: pageShield,
    of: (zone) => one(valueOf(zone.pageShield), ({ enabled }) => (enabled ? "on" : "off")),
  },
  {
    id: "policies",
    title: "Page Shield policies",
    unit: "policy",
    bars: policies,
    of: (zone) => each(valueOf(zone.policies) ?? [], ({ effect }) => (effect in policies ? effect : "other")),
  },
  {
    id: "scripts",
    title: "Scripts",
    unit: "script",
    bars: scripts,
    of: (zone) => {
      const { malicious = 0, notScored = 0, seen = 0 } = valueOf(zone.scripts) ?? {};
      return { malicious, notScored, other: seen - malicious - notScored };
    },
  },
  {
    id: "managedRulesets",
    title: "Managed rulesets",
    unit: "zone",
    bars: managedRulesets,
    of: (zone) => one(valueOf(protectionOf(zone)), String),
  },
  {
    id: "owasp",
    title: "OWASP Core Ruleset",
    unit: "zone",
    bars: owasp,
    of: (zone) => one(valueOf(zone.owasp), ({ state }) => state),
  },
  {
    id: "migration",
    title: "WAF migration",
    unit: "zone",
    bars: migration,
    of: (zone) => one(valueOf(zone.migration), ({ readiness }) => readiness),
  },
  {
    id: "jobs",
    title: "Logpush jobs",
    unit: "job",
    bars: jobs,
    of: (zone) => each(valueOf(zone.jobs) ?? [], ({ state }) => state),
  },
  {
    id: "managed",
    title: "Managed by Pulumi",
    unit: "object",
    bars: managed,
    of: (zone) => {
      const objects = [zone.pageShield, zone.policies, zone.deployments, zone.jobs].flatMap(
        (given): readonly { readonly stack?: string | null }[] => [valueOf(given) ?? []].flat(),
      );
      const marked = objects.filter(({ stack }) => stack !== undefined);
      return each(marked, ({ stack }) => (stack === null ? "unmanaged" : "managed"));
    },
  },
];

function one<T>(value: T | undefined, bar: (value: T) => string): Counts {
  return { [value === undefined ? "notReadable" : bar(value)]: 1 };
}

function each<T>(items: readonly T[], bar: (item: T) => string): Counts {
  const counts: Record<string, number> = {};
  for (const item of items) counts[bar(item)] = (counts[bar(item)] ?? 0) + 1;
  return counts;
}
