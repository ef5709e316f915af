import { newestOf } from "../../page-shield/inventory/judge";
import { daysBetween, STALE_DAYS } from "../../page-shield/inventory/requirements";
import { MALICIOUS_BELOW } from "../../page-shield/threat";
import { escapeInvisible, visible } from "../../basics/printable";
import type {
  CheckedScript,
  InventoryCheck,
  InventoryFinding,
  InventoryNotice,
  RequirementStanding,
} from "../../page-shield/inventory/model";
import { inTable, markdown, unlinked, value, words, type Phrase } from "../../report/phrase";
import { span } from "../../basics/markdown";
import { schemaUrl } from "../../basics/published";
import { pluralize } from "../../basics/words";
import { toCsv, type Cell } from "../../terminal/csv";

export type Format = "text" | "markdown" | "json" | "csv";

/** The output formats of a check. None of them says whether a requirement is met. */
export const WRITERS: Readonly<Record<Format, (check: InventoryCheck) => string>> = {
  text: toText,
  markdown: toMarkdown,
  json: (check) =>
    visible(`${JSON.stringify({ $schema: schemaUrl("inventory-check.v1"), ...check }, undefined, 2)}\n`),
  csv: toTable,
};

const STANDING: Readonly<Record<RequirementStanding["standing"], string>> = {
  evidenced: "evidenced",
  partly: "partly evidenced",
  not: "not evidenced",
};

function summary(check: InventoryCheck): string {
  const { inventory, seen, zones, findings, notices } = check;
  const where = seen.hosts === undefined ? "" : ` on ${seen.hosts.join(", ")}`;
  return [
    `${inventory.file}: ${inventory.approved} of ${pluralize(inventory.entries, "entry")} approved.`,
    `Page Shield has seen ${pluralize(seen.scripts, "script")}${where} in ${pluralize(zones.length, "zone")}${ageOf(check)}.`,
    `${pluralize(findings.length, "finding")}, ${pluralize(notices.length, "notice")}.`,
  ].join(" ");
}

/** Says how long ago Page Shield last saw a script, in the zone where that's longest ago. */
function ageOf({ scripts, zones, checkedAt }: InventoryCheck): string {
  const inZone = (id: string): string | undefined =>
    newestOf(scripts.map(({ seen }) => (seen.zoneId === id ? seen.lastSeenAt : undefined)));
  const [oldest] = zones.flatMap(({ zoneId }) => inZone(zoneId) ?? []).sort();
  return oldest === undefined
    ? ""
    : `, last on ${oldest.slice(0, 10)} (${pluralize(daysBetween(oldest, checkedAt), "day")} ago)`;
}

function judgedByLine({ judgedBy: { threshold, expiringDays } }: InventoryCheck): string {
  const days =
    expiringDays === 0
      ? ""
      : ` An approval that ends in ${expiringDays === 1 ? "less" : "fewer"} than ${pluralize(expiringDays, "day")} is a finding.`;
  const low = Math.min(threshold, MALICIOUS_BELOW);
  const suspicious = threshold > low ? `, one from ${low} to ${threshold - 1} as suspicious` : "";
  return `A script with a score below ${low} counts as malicious${suspicious}.${days} A zone where Page Shield has seen no script for more than ${STALE_DAYS} days is a finding.`;
}

function contentLine({ scripts }: InventoryCheck): string {
  const states = ["unchanged", "changed", "expected to change", "not watched"] as const;
  const counts = states
    .map((state) => [scripts.filter(({ content }) => content === state).length, state] as const)
    .filter(([count]) => count > 0)
    .map(([count, state]) => `${count} ${state}`);
  return `Script content: ${counts.length === 0 ? "none seen" : counts.join(", ")}.`;
}

/** Formats the result for people and logs. Only the other formats contain the evidence, which is for auditors. */
function toText(check: InventoryCheck): string {
  const { checkedAt, zones, findings, notices } = check;
  const list = (title: string, items: readonly string[]): string[] =>
    items.length === 0
      ? []
      : [[`${title}:`, ...items.map((item) => `  - ${escapeInvisible(item)}`)].join("\n")];
  const zone = ({ zoneId }: InventoryFinding): string => (zones.length > 1 ? ` in zone ${zoneId}` : "");
  return [
    `Script inventory, checked at ${checkedAt}`,
    escapeInvisible(summary(check)),
    ...list(
      "Findings",
      findings.map((each) =>
        each.url === undefined
          ? `${each.kind}: zone ${each.zoneId}: ${each.message}`
          : `${each.kind}: ${each.url}${zone(each)} ${each.message}`,
      ),
    ),
    ...list("Notices", noticesByKind(notices)),
    contentLine(check),
  ]
    .join("\n\n")
    .concat("\n");
}

const SHOWN_NOTICES = 5;

/** Lists only the first notices of each kind, because every entry in an inventory may have the same notice. */
function noticesByKind(notices: readonly InventoryNotice[]): string[] {
  return [...new Set(notices.map(({ kind }) => kind))].flatMap((kind) => {
    const all = notices.filter((notice) => notice.kind === kind);
    const more = all.length - SHOWN_NOTICES;
    return [
      ...all
        .slice(0, SHOWN_NOTICES)
        .map(({ script, line, message }) => `${kind}: ${script} (line ${line}): ${message}`),
      ...(more > 0 ? [`${kind}: ${more} more; use --format json to see all of them`] : []),
    ];
  });
}

function toMarkdown(check: InventoryCheck): string {
  const { checkedAt, inventory, seen, zones, findings, notices, scripts, requirements } = check;
  return [
    "# Script inventory",
    `Checked at ${checkedAt}. ${markdown(unlinked(summary(check)))}`,
    table(
      ["digest", "SHA-256"],
      [
        [unlinked(`the inventory, ${inventory.file}`), value(inventory.sha256)],
        [words("what was seen"), value(seen.sha256)],
      ],
    ),
    "## Findings",
    judgedByLine(check),
    bullets(
      findings.map(
        (each) => `**${each.kind}** ${span(each.url ?? each.zoneId)} ${markdown(unlinked(each.message))}`,
      ),
    ),
    "## Notices",
    bullets(notices.map(noticeLine)),
    "## What this check evidences",
    "Results by PCI DSS 4.0.1 element, for an assessor to review.",
    table(
      ["requirement", "element", "scope", "standing", "why"],
      requirements.map(({ requirement, element, scope, standing, why }) =>
        [requirement, element, scope, STANDING[standing], why].map(unlinked),
      ),
    ),
    "## Zones",
    table(
      ["zone", "scripts", "problem"],
      zones.map(({ zoneId, scripts, problem }) => [
        value(zoneId),
        words(String(scripts)),
        unlinked(problem ?? ""),
      ]),
    ),
    "## Scripts",
    contentLine(check),
    table(
      ["script", "seen on", "score", "approval", "content", "justification", "owner", "approved by", "entry"],
      scripts.map(scriptRow),
    ),
  ]
    .join("\n\n")
    .concat("\n");
}

function noticeLine({ kind, script, line, message }: InventoryNotice): string {
  return `**${kind}** ${span(script)} (line ${line}): ${markdown(unlinked(message))}`;
}

function bullets(lines: readonly string[]): string {
  return lines.length === 0 ? "None." : lines.map((line) => `- ${line}`).join("\n");
}

function table(head: readonly string[], rows: readonly (readonly Phrase[])[]): string {
  if (rows.length === 0) return "None.";
  const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [row(head), row(head.map(() => "---")), ...rows.map((cells) => row(cells.map(inTable)))].join("\n");
}

function scriptRow({ seen, entry, approval, content, threat }: CheckedScript): Phrase[] {
  const approved = [
    entry?.approvedBy,
    entry?.approvedOn,
    entry?.approvedUntil && `until ${entry.approvedUntil}`,
  ];
  return [
    value(seen.url),
    unlinked(seen.pages.join(", ")),
    words(seen.score === undefined ? "" : String(seen.score)),
    words(threat === undefined ? approval : `${approval}, ${threat}`),
    unlinked(seen.fetchedAt === undefined ? content : `${content}, fetched ${seen.fetchedAt.slice(0, 10)}`),
    unlinked(entry?.justification ?? ""),
    unlinked(entry?.owner ?? ""),
    unlinked(approved.filter(Boolean).join(", ")),
    unlinked(entry === undefined ? "" : `line ${entry.line}: ${entry.script}`),
  ];
}

const COLUMNS = [
  "checked_at",
  "record",
  "subject",
  "standing",
  "why",
  "zone",
  "pages",
  "score",
  "first_seen",
  "last_seen",
  "content",
  "fetched",
  "expected_hash",
  "seen_hash",
  "entry",
  "justification",
  "owner",
  "approved_by",
  "approved_on",
  "approved_until",
] as const;

type Row = Partial<Record<(typeof COLUMNS)[number], Cell>>;

/** Formats everything as one table. The column `record` says what kind of row it is. */
function toTable(check: InventoryCheck): string {
  const { checkedAt, inventory, seen, zones, findings, notices, scripts, requirements } = check;
  const rows: Row[] = [
    { record: "digest", subject: inventory.file, standing: "inventory", why: `sha256 ${inventory.sha256}` },
    { record: "digest", subject: "[.scripts[].seen]", standing: "seen", why: `sha256 ${seen.sha256}` },
    {
      record: "settings",
      subject: "findings",
      standing: `threshold ${check.judgedBy.threshold}, ${pluralize(check.judgedBy.expiringDays, "day")}`,
      why: judgedByLine(check),
    },
    ...requirements.map(({ requirement, element, scope, standing, why }): Row => ({
      record: "requirement",
      subject: `${requirement}: ${element} (${scope})`,
      standing: STANDING[standing],
      why,
    })),
    ...zones.map(({ zoneId, scripts, problem }): Row => ({
      record: "zone",
      subject: zoneId,
      standing: problem === undefined ? pluralize(scripts, "script") : "problem",
      why: problem,
      zone: zoneId,
    })),
    ...findings.map(({ kind, zoneId, url, message }): Row => ({
      record: "finding",
      subject: url ?? zoneId,
      standing: kind,
      why: message,
      zone: zoneId,
    })),
    ...notices.map(({ kind, script, line, message }): Row => ({
      record: "notice",
      subject: script,
      standing: kind,
      why: message,
      entry: `line ${line}: ${script}`,
    })),
    ...scripts.map(scriptCells),
  ];
  return toCsv(
    COLUMNS,
    rows.map((row) => COLUMNS.map((name) => (name === "checked_at" ? checkedAt : row[name]))),
  );
}

function scriptCells({ seen, entry, approval, content, threat }: CheckedScript): Row {
  return {
    record: "script",
    subject: seen.url,
    standing: threat === undefined ? approval : `${approval}, ${threat}`,
    why: seen.threats.length === 0 ? undefined : `threat lists: ${seen.threats.join(", ")}`,
    zone: seen.zoneId,
    pages: seen.pages.join(" "),
    score: seen.score,
    first_seen: seen.firstSeenAt,
    last_seen: seen.lastSeenAt,
    content,
    fetched: seen.fetchedAt,
    expected_hash: entry?.expectedHash,
    seen_hash: seen.hashes.join(" "),
    entry: entry && `line ${entry.line}: ${entry.script}`,
    justification: entry?.justification,
    owner: entry?.owner,
    approved_by: entry?.approvedBy,
    approved_on: entry?.approvedOn,
    approved_until: entry?.approvedUntil,
  };
}
