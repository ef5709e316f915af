import { COUNTS, each, type Counts } from "../counts";
import type { CHARTS as Bars, Chart as ChartId, TaskKind, Zone } from "../model";

/** The charts: what they count, and their labels. */

/** Whether a bar shows something good or bad. Determines its color; its label says the same. */
export type Tone = "good" | "warn" | "bad" | undefined;
type Words<Bar extends string> = Readonly<Record<Bar, readonly [label: string, tone?: Tone]>>;

export interface Chart {
  readonly id: string;
  readonly title: string;
  /** A noun for what the bars count. */
  readonly unit: string;
  readonly bars: Words<string>;
  readonly of: (zone: Zone) => Counts;
}

export const TASK_WORDS: Words<TaskKind> = {
  maliciousScript: ["Suspicious script", "bad"],
  unapprovedScript: ["Unapproved script", "bad"],
  paused: ["Paused", "bad"],
  noManagedRuleset: ["No managed ruleset", "bad"],
  readyToMigrate: ["Ready to migrate", "warn"],
  blockedMigration: ["Migration not ready", "warn"],
  rulesOnLog: ["Rules on log", "warn"],
  blockingPolicy: ["Policy blocks scripts", "warn"],
  failingJob: ["Failing Logpush job", "warn"],
  owaspOff: ["OWASP off", "warn"],
  pageShieldOff: ["Page Shield off", "warn"],
};

const NOT_READABLE = ["Not readable"] as const;
const PERHAPS = ["Depends on the request", "warn"] as const;

const MODEL_WORDS: { readonly [Id in ChartId]: Words<(typeof Bars)[Id][number]> } = {
  pageShield: { on: ["On", "good"], off: ["Off", "warn"], notReadable: NOT_READABLE },
  policies: { enforced: ["Enforced", "good"], logging: ["Logging"], off: ["Off"], other: ["Other"] },
  scripts: {
    malicious: ["Malicious", "bad"],
    suspicious: ["Suspicious", "warn"],
    notScored: ["Not scored", "warn"],
    other: ["Other"],
  },
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

/** The charts' titles, with a noun for what the bars count. */
const TITLES: readonly (readonly [id: ChartId, title: string, unit: string])[] = [
  ["pageShield", "Page Shield", "zone"],
  ["policies", "Page Shield policies", "policy"],
  ["scripts", "Scripts", "script"],
  ["managedRulesets", "Managed rulesets", "zone"],
  ["owasp", "OWASP Core Ruleset", "zone"],
  ["migration", "WAF migration", "zone"],
  ["jobs", "Logpush jobs", "job"],
  ["managed", "Managed by Pulumi", "object"],
];

export const CHARTS: readonly Chart[] = [
  {
    id: "tasks",
    title: "To do",
    unit: "zone",
    bars: TASK_WORDS,
    of: ({ tasks }) => each(tasks, ({ kind }) => kind),
  },
  ...TITLES.map(([id, title, unit]) => ({ id, title, unit, bars: MODEL_WORDS[id], of: COUNTS[id] })),
];
