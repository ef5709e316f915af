import { formatNumber } from "../limits/workers";
import { applying, firstFew, inSeries, pluralize } from "../basics/words";
import { quoteRule } from "../rulesets/rule-names";
import { protectionOf } from "./protection";
import { isNotReadable, isReadable, valueOf } from "./readable";
import { TASKS, type Deployment, type Task, type TaskKind, type Zone } from "./model";

/** Determines what to do first. No other code ranks tasks: the JSON, the CSV and the page all show this ranking. */

type Facts = Omit<Zone, "tasks">;

/** Returns a zone's tasks, most urgent first. Doing them in this order undoes nothing that a later one needs. */
export function tasksOf(zone: Facts): Task[] {
  const found = TASKS.map((kind) => ({ kind, given: FINDERS[kind](zone) }));
  return found
    .flatMap(({ kind, given }) => (given === undefined ? [] : [{ kind, ...given }]))
    .map(({ kind, text, onPaymentPage = valueOf(zone.hasPaymentPages) === true, ...how }) => ({
      kind,
      rank: TASKS.indexOf(kind) * 2 + (onPaymentPage ? 0 : 1),
      text,
      onPaymentPage,
      ...how,
    }));
}

interface Found extends Pick<Task, "text" | "code" | "command"> {
  /** Whether the task is about a payment page. By default, whether the zone has payment pages. */
  readonly onPaymentPage?: boolean;
}

/** Functions that find a zone's tasks, by kind. Parts that couldn't be read have no tasks. */
const FINDERS: Readonly<Record<TaskKind, (zone: Facts) => Found | undefined>> = {
  maliciousScript: (zone) => {
    const { malicious = 0, suspicious = 0, maliciousBlocked = 0, worst = [] } = valueOf(zone.scripts) ?? {};
    const [first] = worst;
    if (first === undefined) return undefined;
    const score = first.score === undefined ? "" : ` (score ${first.score})`;
    const all = malicious + suspicious;
    const which = `${first.url}${score}${all === 1 ? "" : ` and ${pluralize(all - 1, "other")}`}`;
    const counts = applying(
      malicious > 0 && pluralize(malicious, "malicious script"),
      suspicious > 0 && pluralize(suspicious, "suspicious script"),
    );
    const isDone = maliciousBlocked === all;
    const what = isDone || !mayBlock(zone) ? "Remove" : "Remove or block";
    const blocked = isDone ? "" : ` ${maliciousBlocked} of`;
    const already = ` Enforced policies already block${blocked} ${all === 1 ? "it" : "them"}.`;
    return {
      text: `${what} ${inSeries(counts)}: ${which}, seen on ${first.host}.${maliciousBlocked === 0 ? "" : already}`,
      onPaymentPage: first.onPaymentPage,
    };
  },
  unapprovedScript: ({ scripts, hasPaymentPages }) => {
    const unapproved = valueOf(scripts)?.unapproved ?? 0;
    if (unapproved === 0 || valueOf(hasPaymentPages) !== true) return undefined;
    return {
      text: `Approve or remove ${pluralize(unapproved, "script")} that the inventory doesn't approve.`,
    };
  },
  paused: (zone) =>
    isPaused(zone)
      ? {
          text: "Resume the zone on its Overview page (Advanced Actions > Enable Cloudflare on Site): it's paused, so Cloudflare checks none of its requests.",
        }
      : undefined,
  noManagedRuleset: (zone) => {
    const { requests = "all", lacking = [] } = valueOf(zone.protection) ?? {};
    if (requests === "all" || isPaused(zone)) return undefined;
    const what = `${requests === "some" ? "all requests" : "the zone"} with a managed ruleset: ${lacking.join("; ")}.`;
    if (isNotReadable(zone.migration) && !isFree(zone))
      return { text: `Find out whether the zone still has to migrate, and then protect ${what}` };
    if (hasPreviousWaf(zone)) return undefined;
    const own = (valueOf(zone.deployments) ?? []).filter(
      ({ effect }) => !isFor(effect, "Exposed Credentials"),
    );
    if (own.length > 0) return { text: `Protect ${what}`, command: IMPORT };
    const ruleset = isFree(zone) ? FREE_RULESET : "Cloudflare Managed Ruleset";
    const unknown = isNotReadable(zone.plan) ? ` A Free zone can only deploy the ${FREE_RULESET}.` : "";
    return { text: `Protect ${what}${unknown}`, code: deploying(zone, "zone", ruleset) };
  },
  readyToMigrate: (zone) =>
    valueOf(zone.migration)?.readiness === "ready" && hasPreviousWaf(zone)
      ? {
          text: "Migrate to the current WAF managed rules before you deploy any: nothing blocks the migration. The preview shows which target and confirm to set.",
          code: 'new WafMigration(zone, { zoneId, target: "assessed" }, { protect: true });',
        }
      : undefined,
  blockedMigration: (zone) => {
    const { readiness = "", because = [] } = valueOf(zone.migration) ?? {};
    if (!["blocked", "notCounted"].includes(readiness) || !hasPreviousWaf(zone)) return undefined;
    const what = readiness === "blocked" ? "Resolve what blocks" : "Find out whether anything blocks";
    return {
      text: `${what} the WAF migration, and don't deploy a managed ruleset before it: ${firstFew(because, 1)}.`,
    };
  },
  rulesOnLog: ({ firewallEvents, ...zone }) => {
    const { hours = 0, isSampled, onLog } = (firewallEvents && valueOf(firewallEvents)) ?? {};
    if (onLog === undefined || isPaused(zone)) return undefined;
    const { rules, events, top } = onLog;
    const about = isSampled === true ? "about " : "";
    const which = `rule ${quoteRule(top.ruleId, top.description)}`;
    const of = `${about}${pluralize(events, "event")} in the last ${hours} h`;
    return {
      text:
        rules === 1
          ? `Check whether ${which} can block: it's on log, and logged ${of}.`
          : `Check whether ${formatNumber(rules)} rules on log can block: they logged ${of}, ${about}${formatNumber(top.events)} of ${which}.`,
      command: "edgeguard rollout --zone <zone ID>",
    };
  },
  blockingPolicy: (zone) => {
    const blocking = (valueOf(zone.policies) ?? []).flatMap(({ wouldBlock, ...policy }) => {
      const { count = 0, malicious = 0, scripts = [] } = wouldBlock ?? {};
      return count > malicious ? [{ ...policy, count: count - malicious, scripts }] : [];
    });
    const [first] = blocking;
    if (first === undefined || isPaused(zone)) return undefined;
    const { count, scripts } = first;
    const name = first.description === "" ? first.id : JSON.stringify(first.description);
    const others = blocking.length - 1;
    const more = others === 0 ? "" : ` Scripts are also blocked by ${pluralize(others, "other policy")}.`;
    return {
      text: `Review the enforced policy ${name}: it blocks ${pluralize(count, "active script")}${count === 1 ? ":" : ", such as"} ${scripts[0] ?? ""}.${more}`,
    };
  },
  failingJob: ({ jobs }) => {
    const failing = (valueOf(jobs) ?? []).filter(({ state }) => state === "failing");
    if (failing.length === 0) return undefined;
    const names = failing.map(({ name, id }) => (name === "" ? id : name));
    return {
      text: `Repair ${pluralize(failing.length, "failing Logpush job")}: ${firstFew(names, NAMED)}.`,
    };
  },
  owaspOff: (zone) => {
    const isOff = valueOf(zone.owasp)?.state === "off" && valueOf(protectionOf(zone)) === "on";
    if (!isOff || isFree(zone) || hasPreviousWaf(zone)) return undefined;
    const text = "Consider the OWASP Core Ruleset: it's off.";
    if ((valueOf(zone.deployments) ?? []).some(({ effect }) => isFor(effect, "OWASP")))
      return { text, command: IMPORT };
    const more = ', owasp: { paranoiaLevel: 1, action: "log" }';
    return { text, code: deploying(zone, "`${zone}-owasp`", "Cloudflare OWASP Core Ruleset", more) };
  },
  pageShieldOff: (zone) =>
    valueOf(zone.pageShield)?.enabled === false && !isPaused(zone)
      ? {
          text: "Turn on Page Shield: the zone's scripts aren't monitored.",
          code: "new PageShieldSettings(zone, { zoneId, enabled: true });",
        }
      : undefined,
};

/** A task names this many objects, and counts the others. */
const NAMED = 3;
const FREE_RULESET = "Cloudflare Managed Free Ruleset";
export const IMPORT = "edgeguard import --zone <zone ID> --only rulesets --out zone-<zone ID>";

const isPaused = ({ status }: Facts): boolean => valueOf(status) === "paused";
const isFree = ({ plan }: Facts): boolean => /(^|_)free$/.test(valueOf(plan) ?? "");

const mayBlock = (zone: Facts): boolean => !isPaused(zone) && !isFree(zone) && isReadable(zone.policies);

/**
 * Whether the zone may still run the previous WAF, which Free zones never had. Rulesets that are deployed before the
 * migration run before its exceptions, so these have no effect on them.
 */
const hasPreviousWaf = (zone: Facts): boolean =>
  !isFree(zone) && !["done", "retired"].includes(valueOf(zone.migration)?.readiness ?? "");

const isFor = (effect: Deployment["effect"], name: string): boolean =>
  valueOf(effect)?.name.includes(name) === true;

function deploying({ accountId }: Facts, name: string, ruleset: string, more = ""): string {
  const account = valueOf(accountId);
  const ids = `zoneId, ${account === undefined ? "" : `accountId: "${account}", `}`;
  return `new ManagedRulesetOverride(${name}, { ${ids}ruleset: "${ruleset}"${more} });`;
}
