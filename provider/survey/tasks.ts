import { applying, compareText, firstFew, inSeries, pluralize } from "../basics/words";
import { protectionOf } from "./protection";
import { valueOf } from "./readable";
import { TASKS, type Head, type Task, type TaskKind, type Zone } from "./model";

/** Determines what to do first. No other code ranks tasks: the JSON, the CSV and the page all show this ranking. */

/** Returns a zone's tasks, most urgent first. */
export function tasksOf(zone: Omit<Zone, "tasks">): Task[] {
  const found = TASKS.map((kind) => ({ kind, given: FINDERS[kind](zone) }));
  return found
    .flatMap(({ kind, given }) => (given === undefined ? [] : [{ kind, ...given }]))
    .map(({ kind, text, onPaymentPage = valueOf(zone.hasPaymentPages) === true }) => ({
      kind,
      rank: TASKS.indexOf(kind) * 2 + (onPaymentPage ? 0 : 1),
      text,
      onPaymentPage,
    }));
}

interface Found {
  readonly text: string;
  /** Whether the task is about a payment page. By default, whether the zone has payment pages. */
  readonly onPaymentPage?: boolean;
}

/** Functions that find a zone's tasks, by kind. Parts that couldn't be read have no tasks. */
const FINDERS: Readonly<Record<TaskKind, (zone: Omit<Zone, "tasks">) => Found | undefined>> = {
  maliciousScript: ({ scripts }) => {
    const { malicious = 0, suspicious = 0, worst = [] } = valueOf(scripts) ?? {};
    const [first] = worst;
    if (first === undefined) return undefined;
    const score = first.score === undefined ? "" : ` (score ${first.score})`;
    const others = malicious + suspicious - 1;
    const which = `${first.url}${score}${others === 0 ? "" : ` and ${pluralize(others, "other")}`}`;
    const counts = applying(
      malicious > 0 && pluralize(malicious, "malicious script"),
      suspicious > 0 && pluralize(suspicious, "suspicious script"),
    );
    return {
      text: `Remove or block ${inSeries(counts)}: ${which}, seen on ${first.host}.`,
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
  noManagedRuleset: (zone) => {
    const { requests = "all", lacking = [] } = valueOf(zone.protection) ?? {};
    if (requests === "all") return undefined;
    if (valueOf(zone.status) === "paused")
      return { text: "Resume the zone: it's paused, so Cloudflare checks none of its requests." };
    const what = requests === "some" ? "all requests" : "the zone";
    return { text: `Protect ${what} with a managed ruleset: ${lacking.join("; ")}.` };
  },
  readyToMigrate: ({ migration }) =>
    valueOf(migration)?.readiness === "ready"
      ? { text: "Migrate to the current WAF managed rules: nothing blocks the migration." }
      : undefined,
  blockingPolicy: ({ policies }) => {
    const blocking = (valueOf(policies) ?? []).filter(({ wouldBlock }) => (wouldBlock?.count ?? 0) > 0);
    const [first] = blocking;
    if (first === undefined) return undefined;
    const { count = 0, scripts = [] } = first.wouldBlock ?? {};
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
  owaspOff: (zone) =>
    valueOf(zone.owasp)?.state === "off" && valueOf(protectionOf(zone)) === "on"
      ? { text: "Consider the OWASP Core Ruleset: it's off." }
      : undefined,
  pageShieldOff: ({ pageShield }) =>
    valueOf(pageShield)?.enabled === false
      ? { text: "Turn on Page Shield: the zone's scripts aren't monitored." }
      : undefined,
  blockedMigration: ({ migration }) => {
    const { readiness, because = [] } = valueOf(migration) ?? {};
    if (readiness !== "blocked") return undefined;
    return { text: `Resolve what blocks the WAF migration: ${firstFew(because, 1)}.` };
  },
};

/** A task names this many objects, and counts the others. */
const NAMED = 3;

type RankedTask = Head["first"][number];

/** Compares tasks by urgency, then by zone and text, so that their order is always the same. */
export function byUrgency(a: RankedTask, b: RankedTask): number {
  return (
    a.rank - b.rank ||
    compareText(a.zone, b.zone) ||
    compareText(a.zoneId, b.zoneId) ||
    compareText(a.text, b.text)
  );
}
