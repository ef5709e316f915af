import { escapeInvisible } from "../api/printable";
import { formatNumber } from "../limits/workers";
import { fenced, html, htmlOf, inTable, markdown, markdownWithin, prose, span, proseWithin } from "./escape";
import type { Document, DocumentList } from "./document";
import { digestLine, INVENTORY, NEW_VERSIONS } from "./lines";
import { OPERATION, type Block, type InventorySummary, type Message, type Section } from "./model";
import { joined, name as nameOf, say, value, words, type Phrase } from "./phrase";
import { counted, truncate } from "./values";

/**
 * The maximum length of a GitHub comment. GitHub counts code points. `length` counts each of them once or twice, so it
 * never underestimates.
 */
export const COMMENT_CHARACTERS = 65_536;

/** Returns the first line, which lets a pipeline find the last run's comment and replace it. */
export const marker = (title: string, kind: Document["kind"] = "report"): string =>
  `<!-- edgeguard ${kind} ${truncate(title, 200)
    .replace(/-{2,}/g, "-")
    .replace(/[^\w./ -]/g, "_")} -->`;

/** The maximum number of characters in each part, so that no part crowds out the others. Each part says what it leaves
 * out.
 */
const ROOM = {
  block: 12_000,
  note: 2_000,
  errors: 14_000,
  first: 12_000,
  warnings: 6_000,
  newVersions: 6_000,
  inventory: 6_000,
  list: 4_000,
  omittedLine: 1_500,
  below: 300, // Room for the pipeline to add how to accept the dangers.
} as const;

/**
 * Formats the report as a pull request comment of at most `limit` characters. Lists the names of resources that don't
 * fit.
 */
export function toMarkdown(document: Document, limit = COMMENT_CHARACTERS): string {
  const {
    kind,
    title,
    headline,
    notes,
    errors,
    first,
    urgent,
    digest,
    warnings,
    newVersions,
    inventory,
    sections,
    lists,
    command,
  } = document;
  const all = span(command);
  const top = [
    `${marker(title, kind)}\n## edgeguard: ${prose(truncate(title, 200))}`,
    `**${prose(headline)}**`,
    ...notes.map((note) => `> ${markdownWithin(note, ROOM.note)}`),
    ...(errors.length === 0 ? [] : ["### The preview failed", messages(errors, ROOM.errors)]),
    ...(first.length === 0 ? [] : ["### Review these first", phrases(first, ROOM.first, all)]),
    ...(digest === undefined ? [] : [markdown(digestLine(digest))]),
    ...(warnings.length === 0
      ? []
      : [details(counted(warnings.length, "warning"), messages(warnings, ROOM.warnings))]),
    ...(newVersions.length === 0 ? [] : [`### ${NEW_VERSIONS}`, messages(newVersions, ROOM.newVersions)]),
    ...(inventory === undefined ? [] : inventoryParts(inventory, all)),
  ];
  const bottom = lists.filter(({ items }) => items.length > 0).map(listBlock);
  const written = sections.map((section) => ({ section, text: sectionText(section) }));
  const taken = length([...top, ...bottom]) + ROOM.omittedLine + ROOM.below;
  const kept = new Set<Section>();
  let free = limit - taken;
  const isUrgent = ({ kind, name }: Section): boolean => urgent.has(`${kind} ${name}`);
  for (const { section, text } of [
    ...written.filter((each) => isUrgent(each.section)),
    ...written.filter((each) => !isUrgent(each.section)),
  ]) {
    if (text.length + BETWEEN.length > free) continue;
    free -= text.length + BETWEEN.length;
    kept.add(section);
  }
  const left = sections.filter((section) => !kept.has(section));
  const parts = [
    ...top,
    ...written.filter(({ section }) => kept.has(section)).map(({ text }) => text),
    ...(left.length === 0 ? [] : [cutLine(left, limit, all)]),
    ...bottom,
  ];
  return `${parts.join(BETWEEN)}\n`;
}

const BETWEEN = "\n\n";
const length = (parts: readonly string[]): number =>
  parts.reduce((sum, part) => sum + part.length + BETWEEN.length, 0);

function sectionText({ op, kind, name, summary, blocks }: Section): string {
  const behind = summary.toString() === "" ? "" : `: ${htmlOf(summary)}`;
  const title = `${OPERATION[op].sign} ${html(kind)} <b>${html(truncate(name, 100))}</b>${behind}`;
  // HTML, because Markdown would read a leading + or - as a list item.
  return blocks.length === 0
    ? `<p>${title}</p>`
    : details(title, blocks.map((one) => block(one)).join(BETWEEN), "html");
}

function inventoryParts({ passed, summary, findings }: InventorySummary, all: string): string[] {
  const line = markdownWithin(summary, ROOM.note);
  if (passed) return [details(INVENTORY, line)];
  const items = findings.map((finding) => `- ${markdownWithin(finding, ROOM.inventory / 4)}`);
  return [
    `### ${INVENTORY}`,
    line,
    fitLines(items, ROOM.inventory, (more) => `- and ${more} more: ${all} shows all of them`),
  ];
}

const MOST_NAMED = 10;

function cutLine(left: readonly Section[], limit: number, all: string): string {
  const names = left.slice(0, MOST_NAMED).map(({ kind, name }) => nameOf(truncate(`${kind} ${name}`, 80)));
  const more = left.length > names.length ? " …" : "";
  const what = say`${words(counted(left.length, "resource"))} left out to stay within the comment's limit of ${words(formatNumber(limit))} characters: ${joined(names)}${words(more)}`;
  return `_${markdownWithin(what, ROOM.omittedLine - 100)}._ ${all} shows all of them.`;
}

function listBlock({ title, items }: DocumentList): string {
  const hasMore = items.some(({ more }) => more !== undefined);
  const rows = items.map(({ words: what, type, name, more = words("") }) => [
    words(what),
    value(truncate(type, 80)),
    value(truncate(name, 80)),
    ...(hasMore ? [more] : []),
  ]);
  const head = ["", "type", "name", ...(hasMore ? [""] : [])];
  return details(title, block({ is: "table", head, rows }, ROOM.list));
}

function block(one: Block, room: number = ROOM.block): string {
  switch (one.is) {
    case "text":
      return markdown(one.text);
    case "list":
      return fitLines(
        one.items.map((item) => `- ${markdown(item)}`),
        room,
        (more) => `- and ${more} more`,
      );
    case "table": {
      const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
      const head = [row(one.head.map((cell) => cell || " ")), row(one.head.map(() => "---"))];
      const rows = one.rows.map((cells) => row(cells.map(inTable)));
      return `${head.join("\n")}\n${fitLines(rows, room, (more) => row(one.head.map((_, index) => (index === 0 ? `and ${more} more` : " "))))}`;
    }
    case "code":
      return fenced(
        one.language,
        fitLines(
          one.lines.map((line) => truncate(line, 500)),
          room,
          (more) => `… and ${more} more`,
        ).split("\n"),
      );
    case "states":
      return diagram(one);
  }
}

/** Returns as many lines as fit, and the number of those that don't. */
function fitLines(lines: readonly string[], room: number, rest: (more: string) => string): string {
  let length = 0;
  const fitting = lines.findIndex((line) => (length += line.length + 1) > room);
  if (fitting < 0) return lines.join("\n");
  return [...lines.slice(0, fitting), rest(formatNumber(lines.length - fitting))].join("\n");
}

/** Draws a small Mermaid state diagram. It never contains text from a plan. */
function diagram({ edges, now, next }: Extract<Block, { is: "states" }>): string {
  const label = (state: string): string =>
    state === now ? `${state} (now)` : state === next ? `${state} (next)` : state;
  const states = [...new Set(edges.flat())];
  return fenced("mermaid", [
    "stateDiagram-v2",
    "  direction LR",
    ...states.map((state) => `  state "${label(state)}" as ${idOf(state)}`),
    ...edges.map(([from, to]) => `  ${idOf(from)} --> ${idOf(to)}`),
    "  classDef now font-weight:bold,stroke-width:3px",
    "  classDef next stroke-dasharray:5",
    ...(now === undefined ? [] : [`  class ${idOf(now)} now`]),
    ...(next === undefined ? [] : [`  class ${idOf(next)} next`]),
  ]);
}

/** Returns a state's ID in the diagram. The prefix prevents confusion with Mermaid's keywords. */
const idOf = (state: string): string => `s_${state}`;

/** Formats dangers, each preceded by its kind and none longer than a quarter of `room`. `all` is the command that lists
 * the rest.
 */
function phrases(
  lines: readonly (readonly [kind: string, line: Phrase])[],
  room: number,
  all: string,
): string {
  return fitLines(
    lines.map(([kind, line]) => `- **${kind}** ${markdownWithin(line, room / 4)}`),
    room,
    (more) => `- and ${more} more: ${all} shows all of them`,
  );
}

/** Formats messages: the first line of each as prose, the others below it verbatim. */
function messages(all: readonly Message[], room: number): string {
  const items = all.map(({ about, text }) => {
    const [first = "", ...rest] = text.split("\n");
    const start = about === undefined ? "" : `${span(truncate(about, 120))}: `;
    const head = `- ${start}${proseWithin(first, Math.min(2_000, room / 4), prose)}`;
    if (rest.length === 0) return head;
    const lines = fitLines(
      rest.flatMap((line) => wrapped(truncate(escapeInvisible(line), 2_000))),
      room / 4,
      (more) => `… and ${more} more`,
    ).split("\n");
    return `${head}\n\n${fenced("text", lines).replace(/^/gm, "  ")}\n`;
  });
  return fitLines(items, room, (more) => `- and ${more} more`).trimEnd();
}

const COLUMNS = 100;

/** Wraps and indents a line that would make a code block scroll. */
function wrapped(line: string): string[] {
  const text = escapeInvisible(line);
  if (text.length <= COLUMNS) return [text];
  const indent = /^ */.exec(text)?.[0] ?? "";
  const end = text.lastIndexOf(" ", COLUMNS);
  if (end <= indent.length + INDENT) return [text];
  const rest = `${indent}${indent.endsWith(" ".repeat(INDENT)) ? "" : " ".repeat(INDENT)}${text.slice(end + 1)}`;
  return [text.slice(0, end), ...wrapped(rest)];
}

const INDENT = 4;

/** Collapses text under a summary line. */
function details(summary: string, body: string, as: "text" | "html" = "text"): string {
  const line = as === "html" ? summary : html(summary);
  return `<details><summary>${line}</summary>\n\n${body}\n\n</details>`;
}
