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
import { applying, pluralize } from "../../basics/words";
import { toCsv } from "../../terminal/csv";

export type Format = "text" | "markdown" | "json" | "csv";

/** The output formats of a check. None of them says whether a requirement is met. */
export const WRITERS: Readonly<Record<Format, (check: InventoryCheck) => string>> = {
  text: toText,
  markdown: toMarkdown,
  json: (check) => visible(`${JSON.stringify(check, undefined, 2)}\n`),
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
    ...list("Notices", noticeLines(notices)),
    contentLine(check),
  ]
    .join("\n\n")
    .concat("\n");
}

const SHOWN_NOTICES = 10;

/** Lists only the first notices, because every entry in an inventory may have the same one. */
function noticeLines(notices: readonly InventoryNotice[]): string[] {
  const more = notices.length - SHOWN_NOTICES;
  return applying(
    ...notices
      .slice(0, SHOWN_NOTICES)
      .map(({ kind, script, line, message }) => `${kind}: ${script} (line ${line}): ${message}`),
    more > 0 && `${more} more; use --format json to see all of them`,
  );
}

/** A part of the evidence. Markdown shows it as a table; in CSV, all tables are one. */
interface Table {
  /** The heading in Markdown. */
  readonly title: string;
  /** What a row is, for CSV. */
  readonly record: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly Phrase[])[];
}

function tablesOf(check: InventoryCheck): readonly Table[] {
  const { inventory, seen, zones, findings, notices, scripts, requirements } = check;
  return [
    {
      title: "Basis",
      record: "basis",
      head: ["subject", "value"],
      rows: [
        [unlinked(`SHA-256 of the inventory, ${inventory.file}`), value(inventory.sha256)],
        [words("SHA-256 of what was seen"), value(seen.sha256)],
        [words("findings"), words(judgedByLine(check))],
      ],
    },
    {
      title: "Findings",
      record: "finding",
      head: ["finding", "zone", "script", "message"],
      rows: findings.map(({ kind, zoneId, url, message }) => [
        words(kind),
        value(zoneId),
        valueOf(url),
        unlinked(message),
      ]),
    },
    {
      title: "Notices",
      record: "notice",
      head: ["notice", "entry", "message"],
      rows: notices.map(({ kind, message, ...entry }) => [words(kind), entryOf(entry), unlinked(message)]),
    },
    {
      title: "What this check evidences of PCI DSS 4.0.1, for an assessor to review",
      record: "requirement",
      head: ["requirement", "element", "scope", "standing", "why"],
      rows: requirements.map(({ requirement, element, scope, standing, why }) =>
        [requirement, element, scope, STANDING[standing], why].map(unlinked),
      ),
    },
    {
      title: "Zones",
      record: "zone",
      head: ["zone", "scripts", "problem"],
      rows: zones.map(({ zoneId, scripts: count, problem = "" }) => [
        value(zoneId),
        words(String(count)),
        unlinked(problem),
      ]),
    },
    { title: `Scripts. ${contentLine(check)}`, record: "script", head: SCRIPT, rows: scripts.map(scriptRow) },
  ];
}

const SCRIPT = [
  "script",
  "zone",
  "seen on",
  "score",
  "threats",
  "approval",
  "content",
  "hash",
  "entry",
  "justification",
  "owner",
  "approved by",
];

function scriptRow({ seen, entry, approval, content, threat }: CheckedScript): Phrase[] {
  const { by, on, until } = entry?.approval ?? {};
  return [
    value(seen.url),
    value(seen.zoneId),
    unlinked(seen.pages.join(", ")),
    words(seen.score === undefined ? "" : String(seen.score)),
    unlinked(seen.threats.join(", ")),
    words(threat === undefined ? approval : `${approval}, ${threat}`),
    unlinked(seen.fetchedAt === undefined ? content : `${content}, fetched ${seen.fetchedAt.slice(0, 10)}`),
    valueOf(seen.hashes.join(" ")),
    entry === undefined ? words("") : entryOf(entry),
    unlinked(entry?.justification ?? ""),
    unlinked(entry?.owner ?? ""),
    unlinked(applying(by, on, until && `until ${until}`).join(", ")),
  ];
}

function entryOf({ line, script }: { readonly line: number; readonly script: string }): Phrase {
  return unlinked(`line ${line}: ${script}`);
}

const valueOf = (text = ""): Phrase => (text === "" ? words("") : value(text));

function toMarkdown(check: InventoryCheck): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const parts = tablesOf(check).flatMap(({ title, head, rows }) => [
    `## ${title}`,
    rows.length === 0
      ? "None."
      : [row(head), row(head.map(() => "---")), ...rows.map((cells) => row(cells.map(inTable)))].join("\n"),
  ]);
  const start = `Checked at ${check.checkedAt}. ${markdown(unlinked(summary(check)))}`;
  return ["# Script inventory", start, ...parts].join("\n\n").concat("\n");
}

/** Formats everything as one table. The column `record` says what kind of row it is. */
function toTable(check: InventoryCheck): string {
  const tables = tablesOf(check);
  const columns = [...new Set(tables.flatMap(({ head }) => head))];
  const text = (cell: Phrase | undefined): string | undefined => cell?.format(String, String);
  return toCsv(
    ["checked at", "record", ...columns],
    tables.flatMap(({ record, head, rows }) =>
      rows.map((cells) => [
        check.checkedAt,
        record,
        ...columns.map((column) => text(cells[head.indexOf(column)])),
      ]),
    ),
  );
}
