import { digestOf } from "../../basics/digest";
import { omitAbsent } from "../../basics/json";
import { firstFew, inSeries, matchesPattern, pluralize } from "../../basics/words";
import {
  isReported,
  isScoredBelow,
  MALICIOUS_BELOW,
  threatOf,
  type Listed,
  type ScoredScript,
} from "../threat";
import type { Script } from "../records";
import { CHANGES, type InventoryEntry, type ScriptInventory } from "./file";
import {
  THREATS,
  type ApprovalState,
  type CheckedScript,
  type ContentState,
  type FindingKind,
  type InventoriedScript,
  type InventoryCheck,
  type InventoryFinding,
  type InventoryNotice,
} from "./model";
import { requirementStandings } from "./requirements";
import { parsePattern, parseScriptUrl, PatternIndex, withoutUser } from "./script-pattern";

/** The data that was read from a zone. */
export interface ZoneReading {
  readonly zoneId: string;
  readonly scripts: readonly Script[];
  /** Why the check can't pass, no matter which scripts were seen. */
  readonly problem?: {
    readonly kind: "off" | "not read" | "nothing seen" | "stale";
    readonly message: string;
  };
}

export interface JudgeOptions {
  readonly now: Date;
  /** Scripts with a score below this count as malicious. */
  readonly threshold: number;
  /** An approval that expires in fewer days than this is a finding. */
  readonly expiringDays: number;
  readonly hosts: readonly string[] | undefined;
}

const KINDS: readonly FindingKind[] = [
  "not read",
  "off",
  "nothing seen",
  "stale",
  "malicious",
  "suspicious",
  "changed",
  "new",
  "unapproved",
  "expired",
  "expiring",
];

/** Compares an inventory with the scripts that were seen. */
export function judgeInventory(
  inventory: ScriptInventory,
  zones: readonly ZoneReading[],
  options: JudgeOptions,
): InventoryCheck {
  const { entries } = inventory;
  const seenScripts = scriptsOf(inventory, zones);
  const needed = new Set(seenScripts.map(({ entry }) => entry));
  const scripts = seenScripts.map((script) => judgeScript(script, options));
  const findings = [
    ...zones.flatMap(({ zoneId, problem }): InventoryFinding[] =>
      problem === undefined ? [] : [{ ...problem, zoneId }],
    ),
    ...unseenHosts(zones, options.hosts),
    ...scripts.flatMap((script) => scriptFindings(script, options)),
  ].sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  const isWhole = !zones.some(({ problem }) => problem !== undefined);
  const { hosts } = options;
  const found = {
    checkedAt: options.now.toISOString(),
    passed: findings.length === 0,
    inventory: {
      file: inventory.file,
      sha256: inventory.sha256,
      entries: entries.length,
      approved: entries.filter((entry) => isApproved(entry, options.now)).length,
    },
    seen: {
      sha256: digestOf(scripts.map(({ seen }) => seen)),
      scripts: scripts.length,
      ...(hosts && { hosts }),
    },
    judgedBy: { threshold: options.threshold, expiringDays: options.expiringDays },
    zones: zones.map(({ zoneId, problem }) => ({
      zoneId,
      scripts: scripts.filter(({ seen }) => seen.zoneId === zoneId).length,
      ...(problem && { problem: problem.message }),
    })),
    findings,
    notices: entries.flatMap((entry) =>
      noticesAbout(entry, { isNeeded: needed.has(entry), isWhole, options }),
    ),
    scripts,
  };
  return { ...found, standard: "PCI DSS 4.0.1", requirements: requirementStandings(found) };
}

/** Returns the latest of the times, in ISO 8601. */
export function newestOf(times: readonly (string | undefined)[]): string | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.sort().at(-1);
}

/** A script that was seen in a zone, with the entry that covers it. */
interface SeenScript {
  readonly zoneId: string;
  readonly records: Records;
  readonly entry: InventoryEntry | undefined;
}

function scriptsOf(inventory: ScriptInventory, zones: readonly ZoneReading[]): SeenScript[] {
  const find = entryFinder(inventory);
  return zones.flatMap(({ zoneId, scripts }) =>
    groupByUrl(scripts).map((records): SeenScript => ({ zoneId, records, entry: find(records[0].url) })),
  );
}

/** Finds the scripts that no entry covers, and whether each looks malicious or suspicious. */
export function newScripts(
  inventory: ScriptInventory,
  zones: readonly ZoneReading[],
  threshold: number,
): (Pick<CheckedScript, "seen"> & { readonly isThreat: boolean })[] {
  return scriptsOf(inventory, zones)
    .filter(({ entry }) => entry === undefined)
    .map(({ zoneId, records }) => ({
      seen: factsOf(zoneId, records),
      isThreat: records.some((record) => threatOf(record, threshold) !== undefined),
    }));
}

/** Finds requested hosts on which no scripts were seen in any zone. They may be misspelled. */
function unseenHosts(
  zones: readonly ZoneReading[],
  hosts: readonly string[] | undefined = [],
): InventoryFinding[] {
  const seen = new Set(zones.flatMap(({ scripts }) => scripts.map(({ host }) => host.toLowerCase())));
  const [first] = zones;
  // Without any script, or with an unread zone, the findings about the zones say so.
  if (first === undefined || seen.size === 0 || zones.some(({ problem }) => problem?.kind === "not read"))
    return [];
  return hosts
    .filter((pattern) => ![...seen].some((host) => matchesPattern(host, pattern)))
    .map((host) => ({
      kind: "nothing seen",
      zoneId: first.zoneId,
      host,
      message: `Page Shield has seen no scripts on ${host}${zones.length > 1 ? " in any of the zones" : ""}. Check the host, or wait until visitors have loaded its pages.`,
    }));
}

/** Returns a function that finds the entry that covers a script's URL, approved or not. */
export function entryFinder({ entries }: ScriptInventory): (url: string) => InventoryEntry | undefined {
  const index = new PatternIndex(entries.map((entry) => ({ entry, pattern: parsePattern(entry.script) })));
  return (given) => {
    const url = parseScriptUrl(given);
    return url && index.find(url)?.entry;
  };
}

/** Returns a predicate for URLs that an inventory approves on a given day. */
export function approver(inventory: ScriptInventory, now: Date): (url: string) => boolean {
  const find = entryFinder(inventory);
  return (url) => {
    const entry = find(url);
    return entry !== undefined && isApproved(entry, now);
  };
}

type Records = readonly [Script, ...Script[]];

/** Groups records by script. Page Shield keeps a record for each host whose pages load a script. */
function groupByUrl(scripts: readonly Script[]): Records[] {
  const groups = new Map<string, [Script, ...Script[]]>();
  for (const script of scripts) {
    const url = parseScriptUrl(script.url);
    // No entry covers a URL with a username, so it must not hide behind the same URL without one.
    const key = url === undefined ? script.url : `${url.text}${url.hasUser ? " with a username" : ""}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [script]);
    else group.push(script);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, records]) => records);
}

function judgeScript({ zoneId, records, entry }: SeenScript, options: JudgeOptions): CheckedScript {
  return {
    seen: factsOf(zoneId, records),
    ...(entry && { entry }),
    approval: entry === undefined ? "new" : approvalState(entry, options),
    content: contentState(records, entry?.hash),
    ...omitAbsent({ threat: worstThreat(records, entry, options) }),
  };
}

function worstThreat(
  records: Records,
  entry: InventoryEntry | undefined,
  { threshold, now }: Pick<JudgeOptions, "threshold" | "now">,
): CheckedScript["threat"] {
  const found = records.map((record) =>
    isFalsePositive(entry, record, now) ? "false positive" : threatOf(record, threshold),
  );
  return THREATS.find((threat) => found.includes(threat));
}

/** Whether an approved entry accepts the script's score. No entry accepts a script on a threat list. */
export function isFalsePositive(
  entry: InventoryEntry | undefined,
  script: ScoredScript & Listed,
  now: Date,
): boolean {
  if (entry?.falsePositive === undefined || isReported(script) || !isApproved(entry, now)) return false;
  return isScoredBelow(script, entry.falsePositive) === false;
}

function factsOf(zoneId: string, records: Records): InventoriedScript {
  const scores = records.flatMap(({ jsIntegrityScore }) => jsIntegrityScore ?? []);
  const times = (member: "firstSeenAt" | "fetchedAt"): string[] =>
    records.flatMap((record) => record[member] ?? []).sort();
  const reported = records.flatMap((record) => [
    ...(record.urlReportedMalicious === true ? categories(record.maliciousUrlCategories) : []),
    ...(record.domainReportedMalicious === true ? categories(record.maliciousDomainCategories) : []),
  ]);
  return omitAbsent({
    zoneId,
    url: withoutUser(records[0].url),
    pages: unique(records.map(({ host, firstPageUrl }) => withoutUser(firstPageUrl ?? host))),
    status: records.some(({ status }) => status === "active") ? "active" : records[0].status,
    firstSeenAt: times("firstSeenAt")[0],
    lastSeenAt: newestOf(records.map(({ lastSeenAt }) => lastSeenAt)),
    fetchedAt: times("fetchedAt")[0],
    score: scores.length === 0 ? undefined : Math.min(...scores),
    threats: unique(reported),
    hashes: unique(records.flatMap(({ hash }) => hash ?? [])),
  });
}

function categories(given: readonly string[] = []): readonly string[] {
  return given.length === 0 ? ["reported"] : given;
}

const unique = (texts: readonly string[]): string[] => [...new Set(texts)].sort();

const DAY_MS = 86_400_000;

/**
 * How long before midnight UTC an approval's first day starts: when that day starts in the easternmost time zone. An
 * approval dated today is therefore valid at once in every time zone.
 */
const EARLIEST_ZONE_MS = 14 * 3_600_000;

function approvalState(
  { approval }: InventoryEntry,
  { now, expiringDays }: Pick<JudgeOptions, "now" | "expiringDays">,
): ApprovalState {
  if (approval === undefined) return "unapproved";
  if (Date.parse(approval.on) > now.getTime() + EARLIEST_ZONE_MS) return "not yet approved";
  const days = daysLeft(approval.until, now);
  return days < 0 ? "expired" : days < expiringDays ? "expiring" : "approved";
}

/** Returns how many days are left. On the last day, that's 0. */
function daysLeft(until: string | undefined, now: Date): number {
  return until === undefined ? Infinity : Date.parse(until) / DAY_MS - Math.floor(now.getTime() / DAY_MS);
}

/** Whether an entry's approval is valid at `now`. */
export function isApproved(entry: InventoryEntry, now: Date): boolean {
  return approvalState(entry, { now, expiringDays: 0 }) === "approved";
}

/**
 * Compares a script's content with the expected hash. The content counts as unchanged only if every record of the
 * script has that hash.
 */
function contentState(records: Records, expected: string | undefined): ContentState {
  if (expected === CHANGES) return "expected to change";
  if (expected === undefined) return "not watched";
  const hashes = records.flatMap(({ hash }) => hash?.toLowerCase() ?? []);
  if (hashes.some((hash) => hash !== expected)) return "changed";
  return hashes.length < records.length ? "not watched" : "unchanged";
}

function scriptFindings(script: CheckedScript, options: JudgeOptions): InventoryFinding[] {
  const { seen, entry } = script;
  const finding = (kind: FindingKind, message: string): InventoryFinding => ({
    kind,
    zoneId: seen.zoneId,
    url: seen.url,
    ...(entry && { line: entry.line }),
    message: `${whereSeen(seen)}: ${message}`,
  });
  const findings: InventoryFinding[] = [];
  if (script.threat === "malicious" || script.threat === "suspicious") {
    const limit = Math.min(options.threshold, script.threat === "malicious" ? MALICIOUS_BELOW : Infinity);
    const reasons = [
      ...(seen.score !== undefined && seen.score < limit ? [`its score is below ${limit}`] : []),
      ...(seen.threats.length > 0 ? [`it's on a threat list (${seen.threats.join(", ")})`] : []),
    ];
    const approved =
      script.approval === "approved"
        ? " It's a finding even though it's approved, unless its entry says falsePositive."
        : "";
    const what = `${reasons.join(", and ")}. Remove it from the pages. Until then, an allow policy can block it, but it stays a finding.${approved}`;
    findings.push(finding(script.threat, what));
  } else {
    const [kind, message] = approvalFinding(script, options.now) ?? [];
    if (kind !== undefined) findings.push(finding(kind, message ?? ""));
  }
  if (script.content === "changed") {
    const expected = entry?.hash ?? "";
    const others = seen.hashes.filter((hash) => hash.toLowerCase() !== expected);
    findings.push(
      finding(
        "changed",
        `its content has the ${others.length === 1 ? "hash" : "hashes"} ${inSeries(others)}, but the entry on line ${entry?.line ?? 0} expects ${expected}. Review the new content, then update the hash in that entry.`,
      ),
    );
  }
  return findings;
}

/** Describes where and when a script was seen: `on shop.example/payment, score 85, first seen 2026-11-20`. */
function whereSeen({ pages, score, firstSeenAt }: InventoriedScript): string {
  return [
    `on ${firstPages(pages)}`,
    score === undefined ? "without a score" : `score ${score}`,
    ...(firstSeenAt === undefined ? [] : [`first seen ${firstSeenAt.slice(0, 10)}`]),
  ].join(", ");
}

/** Lists the first pages, and counts the others. */
export function firstPages(pages: readonly string[]): string {
  return firstFew(pages, SHOWN_PAGES);
}

const SHOWN_PAGES = 3;

function approvalFinding(
  { seen, entry, approval }: CheckedScript,
  now: Date,
): readonly [kind: FindingKind, message: string] | undefined {
  const line = `line ${entry?.line ?? 0}`;
  switch (approval) {
    case "approved":
      return undefined;
    case "new":
      return [
        "new",
        `${noEntryReason(seen.url) ?? "no entry covers it. Add it with `edgeguard inventory propose` and have it approved, or remove it from the pages"}.`,
      ];
    case "unapproved":
      return [
        "unapproved",
        `the entry on ${line} has no approval. Review the script, then add who approved it and when.`,
      ];
    case "not yet approved":
      return ["unapproved", `its approval (${line}) starts on ${entry?.approval?.on ?? ""}.`];
    case "expired":
      return [
        "expired",
        `its approval (${line}) expired on ${entry?.approval?.until ?? ""}. Review the script, then renew the approval.`,
      ];
    case "expiring": {
      const days = daysLeft(entry?.approval?.until, now);
      const when = days === 0 ? "today" : `in ${pluralize(days, "day")}, on ${entry?.approval?.until ?? ""}`;
      return [
        "expiring",
        `its approval (${line}) expires ${when}. Review the script, then renew the approval.`,
      ];
    }
  }
}

/** Returns why no entry can cover a script. Undefined if an entry can. */
function noEntryReason(url: string): string | undefined {
  const parsed = parseScriptUrl(url);
  if (parsed === undefined) return "it isn't a URL, so no entry can cover it. Find out which page loads it";
  return parsed.hasUser
    ? "its URL has a username, which makes it look like another host, so no entry can cover it. Remove it from the pages"
    : undefined;
}

interface About {
  readonly isNeeded: boolean;
  /** Whether every zone was read. If not, it's unknown which scripts weren't seen. */
  readonly isWhole: boolean;
  readonly options: JudgeOptions;
}

function noticesAbout(entry: InventoryEntry, { isNeeded, isWhole, options }: About): InventoryNotice[] {
  if (!isApproved(entry, options.now)) return [];
  const { script, line, justification, owner } = entry;
  const notice = (kind: InventoryNotice["kind"], message: string): InventoryNotice => ({
    kind,
    script: withoutUser(script),
    line,
    message,
  });
  const where = options.hosts === undefined ? "" : ` on ${options.hosts.join(", ")}`;
  return [
    ...(isNeeded || !isWhole
      ? []
      : [notice("not seen", `approved, but not seen${where}. Remove the entry if no page needs it.`)]),
    ...(justification === undefined
      ? [
          notice(
            "no justification",
            "approved without a written justification. Set justification to the reason the pages need it.",
          ),
        ]
      : []),
    ...(owner === undefined
      ? [
          notice(
            "no owner",
            "approved without an owner. Set owner to the person or team responsible for the script.",
          ),
        ]
      : []),
  ];
}
