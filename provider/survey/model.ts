import { z } from "zod";
import { members, schemaUrl } from "../basics/published";

/**
 * The content of survey.json. The CSV and the page show the same data. Zones come last in the file, one per line, so
 * that they can be written as they're read.
 */

/** The version of the file format. Adding a field doesn't change it. */
export const SURVEY_VERSION = 1;

/** Why a part couldn't be read. Such a part is never shown as empty. */
export const notReadable = members({
  /**
   * `right`: the token lacks a permission. `plan`: the plan doesn't include it. `account`: the zone's account isn't
   * known. `failed`: the request failed, or Cloudflare rejected it for another reason.
   */
  notReadable: z.enum(["right", "plan", "account", "failed"]),
  /** The missing permission, such as `Page Shield Read`, or what happened. */
  what: z.string(),
});
export type NotReadable = z.infer<typeof notReadable>;

/** A part of the survey that the token may not be able to read. */
export type Cell<T> = T | NotReadable;

function cell<T extends z.ZodType>(schema: T): z.ZodUnion<readonly [T, typeof notReadable]> {
  return z.union([schema, notReadable]);
}

/** The stack that manages an object. Null if none of the given stacks does. Present only in a survey with stacks. */
const stack = z.string().nullable().exactOptional();

const policy = members({
  id: z.string(),
  description: z.string(),
  /**
   * What the policy does: `enforced` blocks, `logging` reports, `off` does nothing. Any other value is Cloudflare's own
   * word for the action.
   */
  effect: z.string(),
  expression: z.string(),
  value: z.string(),
  /**
   * For an enforced policy, how many of the active scripts on its pages it doesn't allow, how many of them are
   * malicious, and the first few of the others or, if there are none, of the malicious ones. Null if only a browser can
   * decide.
   */
  wouldBlock: z
    .strictObject({ count: z.int(), malicious: z.int(), seen: z.int(), scripts: z.array(z.string()) })
    .nullable()
    .exactOptional(),
  stack,
});

const script = members({
  /** The script's URL, without the values of query parameters: they may be credentials. */
  url: z.string(),
  /** The host of the page on which the script was seen. */
  host: z.string(),
  /** The first page on which the script was seen, without its query. */
  firstPageUrl: z.string().exactOptional(),
  /** The script's score, from 1 to 99; lower is worse. */
  score: z.number().exactOptional(),
  /** The threat list's categories for the script. */
  threats: z.array(z.string()).exactOptional(),
  /** Whether the script is malicious. If not, it's suspicious. */
  isMalicious: z.boolean(),
  onPaymentPage: z.boolean(),
});
export type Script = z.infer<typeof script>;

const scripts = members({
  /** The number of active and infrequent scripts. */
  seen: z.int(),
  /** The number of scripts with a score below 10 or on a threat list. */
  malicious: z.int(),
  /** The number of other scripts with a score below 50. */
  suspicious: z.int(),
  /** The number of malicious and suspicious scripts that an enforced policy blocks on every page of their host. */
  maliciousBlocked: z.int(),
  /** The number of scripts without a score. They may be malicious. */
  notScored: z.int(),
  /** The number of scripts that the inventory doesn't approve. Null without an inventory. */
  unapproved: z.int().nullable(),
  onPaymentPages: z.int(),
  /**
   * Scripts that need attention: malicious ones first, and among them those on payment pages. Only the first few are
   * listed.
   */
  worst: z.array(script),
});

const deployment = members({
  ruleId: z.string(),
  /** The ID of the ruleset that contains the rule: the entry point of the zone or the account. */
  entryPointId: z.string(),
  ref: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  /**
   * `off` if the deployment can't act on any request: it's disabled, its rules are off, its expression doesn't match
   * the zone, or an exception stops it for all requests. `perhaps` if that isn't known, because its ruleset couldn't be
   * read or because the expression of an account's deployment matches only some requests to the zone. Otherwise `on`.
   */
  state: z.enum(["on", "off", "perhaps"]),
  expression: z.string(),
  rulesetId: z.string(),
  /** Enabled skip rules before the deployment that apply to it. */
  exceptions: z.array(
    members({
      description: z.string(),
      expression: z.string(),
      /** What the exception skips: `all` for the whole deployment, or the number of its rules that are skipped. */
      skips: z.union([z.literal("all"), z.int()]),
      /** Present if the requests that the exception matches aren't logged. */
      logging: z.literal(false).exactOptional(),
      /**
       * Whether the exception stops the whole deployment for the requests that it matches. Skipping the rule that
       * compares the OWASP score is enough.
       */
      stops: z.boolean(),
    }),
  ),
  /** Present if the part of a request that matched a rule is logged, encrypted. */
  payloadLogging: z.literal(true).exactOptional(),
  effect: cell(
    members({
      name: z.string(),
      version: z.string(),
      /** How many versions the deployment is behind the latest one. It's 0 unless the rule pins a version. */
      versionsBehind: z.int(),
      /** The paranoia level. Present only for a ruleset with paranoia levels. */
      paranoiaLevel: z.int().exactOptional(),
      /** The score at which the ruleset acts. Present only for a ruleset that scores, if the rule that compares it is on. */
      scoreThreshold: z.int().exactOptional(),
      /** The action at the score threshold or, for other rulesets, the action that an override sets for all rules. */
      action: z.string().exactOptional(),
      rulesOn: z.int(),
      rulesOff: z.int(),
      /** How many of the rules that are on have the action `log`. */
      rulesOnLog: z.int(),
      /** Whether all rules that are on only log, or only add to a score. */
      onlyLogs: z.boolean(),
    }),
  ),
  stack,
});
export type Deployment = z.infer<typeof deployment>;

/** Counts events of managed rules. With the most of them, a rule's ID, and its description if the survey knows it. */
const ruleEvents = { ruleId: z.string(), description: z.string().exactOptional(), events: z.int() };
const firewallEvents = members({
  /** How many hours were counted. */
  hours: z.int(),
  /** Events of managed rules that blocked the request. */
  blocked: z.int(),
  /** Events of managed rules that challenged the visitor, whatever came of it. */
  challenged: z.int(),
  /** Events of managed rules that only logged the request. */
  logged: z.int(),
  /** Present if Cloudflare estimates the counts from a sample. */
  isSampled: z.literal(true).exactOptional(),
  /** Present if Cloudflare has more events than it returned. */
  isCut: z.literal(true).exactOptional(),
  /** The rule with the most events. */
  top: members(ruleEvents).exactOptional(),
  /** Events of the rules that the zone's deployments have on `log` now. Absent without any. */
  onLog: members({ rules: z.int(), events: z.int(), top: members(ruleEvents) }).exactOptional(),
});
export type FirewallEvents = z.infer<typeof firewallEvents>;

const job = members({
  id: z.string(),
  name: z.string(),
  dataset: z.string(),
  /** The job's state. `failing` means that the last push failed, `new` that nothing was ever pushed. */
  state: z.enum(["working", "failing", "new", "off"]),
  /**
   * The destination, shown as the scheme with the bucket and path, or with the host. It contains nothing that may be a
   * credential.
   */
  destination: z.string(),
  /** The number of fields of a line, if Cloudflare returns them. */
  fields: z.int().exactOptional(),
  /** The share of the lines that are pushed, if not all. */
  sampleRate: z.number().exactOptional(),
  /** A digest of the filter. Absent without one. */
  filter: z.string().exactOptional(),
  /** A digest of the output options, to see whether they changed. */
  outputOptions: z.string(),
  /** Present if attack traffic that DDoS protection handles isn't pushed. */
  filterAttackTraffic: z.literal(true).exactOptional(),
  /** The ID of the transformer, which may drop log lines. */
  transformerId: z.number().exactOptional(),
  lastComplete: z.string().exactOptional(),
  lastError: z.string().exactOptional(),
  /** Cloudflare's error message, without anything that may be a credential. */
  errorMessage: z.string().exactOptional(),
  stack,
});
export type SurveyedJob = z.infer<typeof job>;

/** The kinds of tasks, most urgent first. This order determines their rank. */
export const TASKS = [
  "maliciousScript",
  "unapprovedScript",
  "paused",
  "noManagedRuleset",
  "readyToMigrate",
  "blockedMigration",
  "rulesOnLog",
  "blockingPolicy",
  "failingJob",
  "owaspOff",
  "pageShieldOff",
] as const;
export type TaskKind = (typeof TASKS)[number];

const taskShape = {
  kind: z.enum(TASKS),
  /** How urgent the task is: lower is more urgent. Ranks can be compared across zones. */
  rank: z.int(),
  /** What to do, as a sentence. */
  text: z.string(),
  onPaymentPage: z.boolean(),
  /** A TypeScript statement that does it, in a program where `zone` is the zone's name and `zoneId` its ID. */
  code: z.string().exactOptional(),
  /** A command to begin with. Replace `<zone ID>`. */
  command: z.string().exactOptional(),
};
const task = members(taskShape);
export type Task = z.infer<typeof task>;

/** Objects that none of the given stacks manages, and the command that writes a program for them. */
const unmanaged = members({
  objects: z.array(members({ type: z.string(), id: z.string(), name: z.string() })),
  /** The parts that couldn't be read, such as `policies`. They may contain more objects. */
  unread: z.array(z.string()),
  command: z.string(),
});
export type Unmanaged = z.infer<typeof unmanaged>;

const listedZoneShape = {
  id: z.string(),
  name: cell(z.string()),
  /** The plan: `free`, `pro`, `business`, `enterprise`, or another value from Cloudflare. */
  plan: cell(z.string()),
  /** The status: `active`, `pending`, `paused`, or another value from Cloudflare. */
  status: cell(z.string()),
  accountId: cell(z.string()),
};
/** A zone as Cloudflare's list of zones describes it. */
export const listedZone = members(listedZoneShape);
export type ListedZone = z.infer<typeof listedZone>;

export const zone = members({
  ...listedZoneShape,
  /**
   * Whether --payment-pages names a host of the zone, with or without a path, or a page on which a script was seen.
   * Without the option, whether a script of the inventory was seen.
   */
  hasPaymentPages: cell(z.boolean()),
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
  /** The rules that execute a managed ruleset for responses, which only logs. Only Enterprise zones have any. */
  responseDeployments: cell(z.array(deployment)),
  /**
   * The account's deployments, without those whose expression never matches the zone. They run before the zone's own.
   */
  accountDeployments: cell(z.array(deployment)),
  /** Whether managed rulesets protect the zone. */
  protection: cell(
    members({
      /** Which requests are protected. Only `all` counts as protected. */
      requests: z.enum(["all", "some", "none"]),
      /** What is missing for `all`: that the zone is paused, or one sentence for each deployment. */
      lacking: z.array(z.string()),
    }),
  ),
  /** What the zone's managed rules did in the last hours. Absent if `edgeguard:traffic` is 0. */
  firewallEvents: cell(firewallEvents).exactOptional(),
  /** The first deployment that's on and has paranoia levels. If there's none, the first that's perhaps on. */
  owasp: cell(
    members({
      state: z.enum(["on", "off", "perhaps"]),
      paranoiaLevel: z.int().exactOptional(),
      scoreThreshold: z.int().exactOptional(),
      action: z.string().exactOptional(),
    }),
  ),
  migration: cell(
    members({
      /** The readiness: `ready`, `blocked`, `notCounted`, `underWay`, `done` or `retired`. See `migrationReadiness`. */
      readiness: z.string(),
      /** The state: `start`, `validation`, `finished` or `retired`, otherwise Cloudflare's own word. */
      state: z.string(),
      /** What blocks the migration, or what couldn't be counted. */
      because: z.array(z.string()),
      /** A missing permission because of which something couldn't be counted. */
      missingRight: z.string().exactOptional(),
    }),
  ),
  jobs: cell(z.array(job)),
  /** The tasks, most urgent first. */
  tasks: z.array(task),
  /** The objects that no stack manages. Present only in a survey with stacks. */
  unmanaged: unmanaged.exactOptional(),
});
export type Zone = z.infer<typeof zone>;

const keys = cell(members({ count: z.int(), more: z.boolean() }));
export type NamespaceKeys = z.infer<typeof keys>;
const namespace = members({
  id: z.string(),
  title: z.string(),
  jurisdiction: z.string().exactOptional(),
  /** The number of keys, counted up to a limit. `more` means that there are more than that. */
  keys,
  stack,
});

const listedAccountShape = { id: z.string(), name: z.string().exactOptional(), zones: z.int() };
/** An account, with the number of its zones in the survey. */
export const listedAccount = members(listedAccountShape);
export type ListedAccount = z.infer<typeof listedAccount>;

export const account = members({
  ...listedAccountShape,
  /** The rulesets that the account's zones can deploy, and the account's own. */
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
  /**
   * The rules in the account's entry point that execute a managed ruleset in its zones, in the order in which they run.
   */
  deployments: cell(z.array(deployment)),
  jobs: cell(z.array(job)),
  namespaces: cell(z.array(namespace)),
  unmanaged: unmanaged.exactOptional(),
});
export type Account = z.infer<typeof account>;

/** The charts' bars. The values in a chart add up to the number of zones, policies, scripts or jobs. */
export const CHARTS = {
  pageShield: ["on", "off", "notReadable"],
  policies: ["enforced", "logging", "off", "other"],
  scripts: ["malicious", "suspicious", "notScored", "other"],
  managedRulesets: ["on", "perhaps", "none", "notReadable"],
  owasp: ["on", "perhaps", "off", "notReadable"],
  migration: ["done", "ready", "blocked", "underWay", "notCounted", "retired", "notReadable"],
  jobs: ["working", "failing", "new", "off"],
  /** The objects that no stack manages. Present only in a survey with stacks. */
  managed: ["managed", "unmanaged"],
} as const;
export type Chart = keyof typeof CHARTS;

const headShape = {
  version: z.literal(SURVEY_VERSION),
  /** When the survey began, in ISO 8601. */
  at: z.string(),
  /** The tool that wrote the file: `pulumi-edgeguard` and its version. */
  tool: z.string(),
  /** The number of zones. */
  zoneCount: z.int(),
  accounts: z.array(account),
  /** The permissions that the token lacks. Each is listed once. */
  missingRights: z.array(
    members({
      /** The permission, such as `Page Shield Read`. */
      right: z.string(),
      /** Where to grant it: `Page Shield Read (in the dashboard: Zone > Client-side security > Read)`. */
      where: z.string(),
      /** How many zones or accounts have a part that couldn't be read. */
      zones: z.int(),
      accounts: z.int(),
    }),
  ),
  /** The stacks. Empty in a survey without stacks. */
  stacks: z.array(members({ name: z.string(), resources: z.int() })),
  /** The patterns of --payment-pages. */
  paymentPages: z.array(z.string()),
  /** The numbers of zones, policies, scripts and jobs, by chart and bar. */
  totals: z.record(z.string(), z.record(z.string(), z.int())),
  /** The most urgent tasks of all zones, at most 100. Each is listed once, with how many zones have it, and the first 20. */
  first: z.array(
    members({
      ...taskShape,
      zoneCount: z.int(),
      zones: z.array(members({ id: z.string(), name: z.string() })),
    }),
  ),
  /** How many zones have each kind of task. */
  taskCounts: z.partialRecord(z.enum(TASKS), z.int()),
};
/** Everything in survey.json except the zones. */
export const head = members(headShape);
export type Head = z.infer<typeof head>;

export const SURVEY_SCHEMA = schemaUrl("survey.v1");

/** The schema of survey.json. */
export const survey = members({ $schema: z.literal(SURVEY_SCHEMA), ...headShape, zones: z.array(zone) });
export type Survey = z.infer<typeof survey>;
