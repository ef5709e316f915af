import { z } from "zod";
import { members, schemaUrl } from "../runtime/published";

/**
 * The content of survey.json. The CSV and the page show the same model, so all three agree. Zones come last in the file,
 * one per line, so that they can be written as they're read.
 */

/** The version of the file's form. A field that's added doesn't change it. */
export const SURVEY_VERSION = 1;

/** What couldn't be read, and why. A part that couldn't be read is never shown as empty. */
export const notReadable = members({
  /**
   * `right`: the token lacks a permission. `notTried`: other zones of the account refused the permission, so it wasn't tried
   * in this one. `plan`: Cloudflare refused it for another reason, usually the plan. `account`: the zone's account isn't
   * known. `failed`: the request failed.
   */
  notReadable: z.enum(["right", "notTried", "plan", "account", "failed"]),
  /** The permission, such as `Page Shield Read`, or what happened. */
  what: z.string(),
});
export type NotReadable = z.infer<typeof notReadable>;

/** A part of the survey that the token may not be able to read. */
export type Cell<T> = T | NotReadable;

function cell<T extends z.ZodType>(schema: T): z.ZodUnion<readonly [T, typeof notReadable]> {
  return z.union([schema, notReadable]);
}

/**
 * The stack that manages an object; null if none of the given stacks does. Present only in a survey with stacks.
 */
const stack = z.string().nullable().exactOptional();

const policy = members({
  id: z.string(),
  description: z.string(),
  /** `enforced` blocks, `logging` reports, `off` does nothing. Otherwise, Cloudflare's own word for the action. */
  effect: z.string(),
  expression: z.string(),
  value: z.string(),
  /**
   * For an enforced policy, how many of the active scripts on its pages it doesn't allow, and the first of them. Null if
   * only a browser can tell.
   */
  wouldBlock: z
    .strictObject({ count: z.int(), seen: z.int(), scripts: z.array(z.string()) })
    .nullable()
    .exactOptional(),
  stack,
});

const script = members({
  url: z.string(),
  /** The host of the page on which it was seen. */
  host: z.string(),
  firstPageUrl: z.string().exactOptional(),
  /** From 1 to 99; lower is worse. */
  score: z.number().exactOptional(),
  /** The threat list's categories. */
  threats: z.array(z.string()).exactOptional(),
  isMalicious: z.boolean(),
  onPaymentPage: z.boolean(),
});
export type Script = z.infer<typeof script>;

const scripts = members({
  /** Active and infrequent scripts. */
  seen: z.int(),
  /** A score below 50, or on a threat list. */
  malicious: z.int(),
  /** Scripts without a score, which nobody can call harmless. */
  notScored: z.int(),
  /** Scripts that the inventory doesn't approve. Null without an inventory. */
  unapproved: z.int().nullable(),
  onPaymentPages: z.int(),
  /** The first that need attention: malicious ones first, those on payment pages before others. */
  worst: z.array(script),
});

const deployment = members({
  ruleId: z.string(),
  /** The ruleset that holds the rule: the zone's entry point, or the account's. */
  entryPointId: z.string(),
  ref: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  expression: z.string(),
  rulesetId: z.string(),
  /** Enabled skip rules before it that apply to it. */
  exceptions: z.array(
    members({
      description: z.string(),
      expression: z.string(),
      /** `all` for the whole deployment, or the number of its rules. */
      skips: z.union([z.literal("all"), z.int()]),
    }),
  ),
  effect: cell(
    members({
      name: z.string(),
      version: z.string(),
      /** How many versions newer the latest one is: 0 unless the rule pins a version. */
      versionsBehind: z.int(),
      /** Present only for a ruleset with paranoia levels. */
      paranoiaLevel: z.int().exactOptional(),
      /** The score at which the ruleset acts. Present only for a ruleset that scores. */
      scoreThreshold: z.int().exactOptional(),
      /** At the threshold, or what an override makes all rules do. */
      action: z.string().exactOptional(),
      rulesOn: z.int(),
      rulesOff: z.int(),
    }),
  ),
  stack,
});
export type Deployment = z.infer<typeof deployment>;

const job = members({
  id: z.string(),
  name: z.string(),
  dataset: z.string(),
  /** `failing` if the last push failed, `new` if nothing was ever pushed. */
  state: z.enum(["working", "failing", "new", "off"]),
  /** The scheme with the bucket and path, or with the host. Nothing in it may be a credential. */
  destination: z.string(),
  lastComplete: z.string().exactOptional(),
  lastError: z.string().exactOptional(),
  /** Cloudflare's words, without anything that may be a credential. */
  errorMessage: z.string().exactOptional(),
  stack,
});
export type SurveyedJob = z.infer<typeof job>;

/** What to do, most urgent first. The order is the ranking. */
export const TASKS = [
  "maliciousScript",
  "unapprovedScript",
  "noManagedRuleset",
  "readyToMigrate",
  "blockingPolicy",
  "failingJob",
  "owaspOff",
  "pageShieldOff",
  "blockedMigration",
] as const;
export type TaskKind = (typeof TASKS)[number];

const taskShape = {
  kind: z.enum(TASKS),
  /** Lower is more urgent. Tasks of all zones can be compared. */
  rank: z.int(),
  /** What to do, as a sentence. */
  text: z.string(),
  onPaymentPage: z.boolean(),
};
const task = members(taskShape);
export type Task = z.infer<typeof task>;

/** Objects that no given stack manages, and the command that writes a program for them. */
const unmanaged = members({
  objects: z.array(members({ type: z.string(), id: z.string(), name: z.string() })),
  command: z.string(),
});
export type Unmanaged = z.infer<typeof unmanaged>;

const listedZoneShape = {
  id: z.string(),
  name: cell(z.string()),
  /** `free`, `pro`, `business`, `enterprise`, or another word of Cloudflare's. */
  plan: cell(z.string()),
  /** `active`, `pending`, `paused`, or another word of Cloudflare's. */
  status: cell(z.string()),
  accountId: cell(z.string()),
};
/** A zone as the list of zones describes it. */
export const listedZone = members(listedZoneShape);
export type ListedZone = z.infer<typeof listedZone>;

export const zone = members({
  ...listedZoneShape,
  /** Whether the inventory or --payment-pages names a page of the zone on which a script was seen. */
  hasPaymentPages: z.boolean(),
  pageShield: cell(
    members({
      enabled: z.boolean(),
      updatedAt: z.string().exactOptional(),
      useReportingEndpoint: z.boolean().exactOptional(),
      useConnectionUrlPath: z.boolean().exactOptional(),
      stack,
    }),
  ),
  policies: cell(z.array(policy)),
  scripts: cell(scripts),
  /** The rules that execute a managed ruleset, in the order in which they run. */
  deployments: cell(z.array(deployment)),
  /**
   * The account's deployments that may act on the zone. They run before the zone's. Only the expressions' conditions on the
   * zone are decided, so other conditions may still exclude a request.
   */
  accountDeployments: cell(z.array(deployment)),
  /** The first enabled deployment with paranoia levels. */
  owasp: cell(
    members({
      state: z.enum(["on", "off"]),
      paranoiaLevel: z.int().exactOptional(),
      scoreThreshold: z.int().exactOptional(),
      action: z.string().exactOptional(),
    }),
  ),
  migration: cell(
    members({
      /** `ready`, `blocked`, `notCounted`, `underWay`, `done` or `retired`: see `migrationReadiness`. */
      readiness: z.string(),
      /** `start`, `validation`, `finished` or `retired`, otherwise Cloudflare's own word. */
      state: z.string(),
      /** What blocks the zone, or what couldn't be counted. */
      because: z.array(z.string()),
      /** A permission without which something couldn't be counted. */
      missingRight: z.string().exactOptional(),
    }),
  ),
  jobs: cell(z.array(job)),
  /** Most urgent first. */
  tasks: z.array(task),
  /** Present only in a survey with stacks. */
  unmanaged: unmanaged.exactOptional(),
});
export type Zone = z.infer<typeof zone>;

const namespaceShape = { id: z.string(), title: z.string() };
const keys = cell(members({ count: z.int(), more: z.boolean() }));
export type NamespaceKeys = z.infer<typeof keys>;
const namespace = members({
  ...namespaceShape,
  /** Counted up to a limit; `more` says that there are more. */
  keys,
  stack,
});

const listedAccountShape = { id: z.string(), name: z.string().exactOptional(), zones: z.int() };
/** An account with the number of its zones in the survey. */
export const listedAccount = members(listedAccountShape);
export type ListedAccount = z.infer<typeof listedAccount>;

const accountShape = {
  ...listedAccountShape,
  /** The rulesets that its zones can deploy, and its own. */
  rulesets: cell(
    z.array(
      members({
        id: z.string(),
        name: z.string(),
        kind: z.string(),
        phase: z.string(),
        version: z.string(),
      }),
    ),
  ),
  /** The rules of its entry point that execute a managed ruleset in its zones, in the order in which they run. */
  deployments: cell(z.array(deployment)),
  jobs: cell(z.array(job)),
};
export const account = members({
  ...accountShape,
  namespaces: cell(z.array(namespace)),
  unmanaged: unmanaged.exactOptional(),
});
export type Account = z.infer<typeof account>;

/** An account whose keys haven't been counted yet, and how many keys a namespace has: as they're journaled. */
export const accountFacts = members({ ...accountShape, namespaces: cell(z.array(members(namespaceShape))) });
export type AccountFacts = z.infer<typeof accountFacts>;
export const countedKeys = members({ accountId: z.string(), namespaceId: z.string(), keys });
export type CountedKeys = z.infer<typeof countedKeys>;

/** The bars of the charts: each chart's values add up to the zones, policies, scripts or jobs. */
export const CHARTS = {
  pageShield: ["on", "off", "notReadable"],
  policies: ["enforced", "logging", "off", "other"],
  scripts: ["malicious", "notScored", "other"],
  managedRulesets: ["on", "none", "notReadable"],
  owasp: ["on", "off", "notReadable"],
  migration: ["done", "ready", "blocked", "underWay", "notCounted", "retired", "notReadable"],
  jobs: ["working", "failing", "new", "off"],
  /** Present only in a survey with stacks. */
  managed: ["managed", "unmanaged"],
} as const;
export type Chart = keyof typeof CHARTS;

const headShape = {
  version: z.literal(SURVEY_VERSION),
  /** When the survey began, in ISO 8601. */
  at: z.string(),
  /** `pulumi-edgeguard` and its version. */
  tool: z.string(),
  /** The number of zones. */
  zoneCount: z.int(),
  accounts: z.array(account),
  /** The permissions that the token lacks, each once. */
  missingRights: z.array(
    members({
      /** `Page Shield Read` */
      right: z.string(),
      /** `Page Shield Read (in the dashboard: Zone > Page Shield > Read)` */
      where: z.string(),
      /** How many zones or accounts have a part that couldn't be read. */
      zones: z.int(),
      accounts: z.int(),
      /** In how many of these zones it wasn't tried, because other zones of the account refused it. */
      zonesNotTried: z.int(),
    }),
  ),
  /** Empty in a survey without stacks. */
  stacks: z.array(members({ name: z.string(), resources: z.int() })),
  /** The patterns of --payment-pages. */
  paymentPages: z.array(z.string()),
  /** Zones, policies, scripts and jobs by chart and bar. */
  totals: z.record(z.string(), z.record(z.string(), z.int())),
  /** The most urgent tasks of all zones, at most 100. */
  first: z.array(members({ ...taskShape, zoneId: z.string(), zone: z.string() })),
  /** How many zones have each kind of task. */
  taskCounts: z.partialRecord(z.enum(TASKS), z.int()),
};
/** Everything but the zones. */
export const head = members(headShape);
export type Head = z.infer<typeof head>;

export const SURVEY_SCHEMA = schemaUrl("survey.v1");

/** survey.json */
export const survey = members({ $schema: z.literal(SURVEY_SCHEMA), ...headShape, zones: z.array(zone) });
export type Survey = z.infer<typeof survey>;
