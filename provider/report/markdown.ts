import { escapeInvisible } from "../api/printable";
import { fenced, html, htmlOf, inTable, markdown, markdownWithin, prose, span, within } from "./escape";
import { countsLine, dangerLines, digestLine } from "./lines";
import { OPERATION, type Block, type Message, type Report, type Section } from "./model";
import { joined, name as nameOf, say, value, words, type Phrase } from "./phrase";
import { counted, cut } from "./values";

/**
 * GitHub refuses a longer comment. It counts code points; a text's own length counts each of them once or twice, and is
 * never too small.
 */
export const COMMENT_CHARACTERS = 65_536;

/** The first line: whoever comments looks for it, to replace the comment of the last run. */
export const marker = (title: string): string =>
  `<!-- edgeguard report ${cut(title, 200)
    .replace(/-{2,}/g, "-")
    .replace(/[^\w./ -]/g, "_")} -->`;

/** Most characters of each part, so that none takes the place of all others: what is left out of it is said there. */
const ROOM = {
  block: 12_000,
  note: 2_000,
  errors: 14_000,
  dangers: 12_000,
  warnings: 6_000,
  others: 4_000,
  cutLine: 1_500,
  below: 300, // For a pipeline, which says there how to accept the dangers.
} as const;

/** The report as a pull-request comment of at most `limit` characters; what does not fit is named. */
export function toMarkdown(report: Report, limit = COMMENT_CHARACTERS): string {
  const { title, notes, errors, dangers, digest, warnings, sections, others } = report;
  const top = [
    `${marker(title)}\n## edgeguard: ${prose(cut(title, 200))}`,
    `**${prose(countsLine(report))}**`,
    ...notes.map((note) => `> ${markdownWithin(note, ROOM.note)}`),
    ...(errors.length === 0 ? [] : ["### The preview failed", messages(errors, ROOM.errors)]),
    ...(dangers.length === 0
      ? []
      : ["### Look here first", phrases(dangerLines(dangers), ROOM.dangers, ALL_OF_IT)]),
    ...(digest === undefined ? [] : [markdown(digestLine(digest))]),
    ...(warnings.length === 0
      ? []
      : [details(counted(warnings.length, "warning"), messages(warnings, ROOM.warnings))]),
  ];
  const bottom = others.length === 0 ? [] : [othersBlock(report)];
  const written = sections.map((section) => ({ section, text: sectionText(section) }));
  const taken = length([...top, ...bottom]) + ROOM.cutLine + ROOM.below;
  const kept = new Set<Section>();
  let free = limit - taken;
  // What is dangerous is told in full before what is not.
  const first = new Set(dangers.map(({ type, name }) => `${type} ${name}`));
  const isFirst = ({ kind, name }: Section): boolean => first.has(`${kind} ${name}`);
  for (const { section, text } of [
    ...written.filter((each) => isFirst(each.section)),
    ...written.filter((each) => !isFirst(each.section)),
  ]) {
    if (text.length + BETWEEN.length > free) continue;
    free -= text.length + BETWEEN.length;
    kept.add(section);
  }
  const left = sections.filter((section) => !kept.has(section));
  const parts = [
    ...top,
    ...written.filter(({ section }) => kept.has(section)).map(({ text }) => text),
    ...(left.length === 0 ? [] : [cutLine(left, limit)]),
    ...bottom,
  ];
  return `${parts.join(BETWEEN)}\n`;
}

const BETWEEN = "\n\n";
const length = (parts: readonly string[]): number =>
  parts.reduce((sum, part) => sum + part.length + BETWEEN.length, 0);

function sectionText({ op, kind, name, summary, blocks }: Section): string {
  const behind = summary.toString() === "" ? "" : `: ${htmlOf(summary)}`;
  const title = `${OPERATION[op].sign} ${html(kind)} <b>${html(cut(name, 100))}</b>${behind}`;
  // A line of HTML, so that its sign does not make it an item of a list.
  return blocks.length === 0
    ? `<p>${title}</p>`
    : details(title, blocks.map((one) => block(one)).join(BETWEEN), "html");
}

const MOST_NAMED = 10;

function cutLine(left: readonly Section[], limit: number): string {
  const names = left.slice(0, MOST_NAMED).map(({ kind, name }) => nameOf(cut(`${kind} ${name}`, 80)));
  const more = left.length > names.length ? " …" : "";
  const what = say`${words(counted(left.length, "resource"))} left out, as a comment takes ${words(limit.toLocaleString("en-US"))} characters: ${joined(names)}${words(more)}`;
  return `_${markdownWithin(what, ROOM.cutLine - 100)}._ ${ALL_OF_IT} tells all of them.`;
}

/** How to see what a comment leaves out. */
const ALL_OF_IT = span("edgeguard report --format text");

function othersBlock({ others }: Report): string {
  const rows = others.map(({ op, type, name }) => [
    words(OPERATION[op].words),
    value(cut(type, 80)),
    value(cut(name, 80)),
  ]);
  const table = block({ is: "table", head: ["", "type", "name"], rows }, ROOM.others);
  return details(`${counted(others.length, "change")} of other providers`, table);
}

function block(one: Block, room: number = ROOM.block): string {
  switch (one.is) {
    case "text":
      return markdown(one.text);
    case "list":
      return fitting(
        one.items.map((item) => `- ${markdown(item)}`),
        room,
        (more) => `- and ${more} more`,
      );
    case "table": {
      const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
      const head = [row(one.head.map((cell) => cell || " ")), row(one.head.map(() => "---"))];
      const rows = one.rows.map((cells) => row(cells.map(inTable)));
      return `${head.join("\n")}\n${fitting(rows, room, (more) => row(one.head.map((_, index) => (index === 0 ? `and ${more} more` : " "))))}`;
    }
    case "code":
      return fenced(
        one.language,
        fitting(
          one.lines.map((line) => cut(line, 500)),
          room,
          (more) => `… and ${more} more`,
        ).split("\n"),
      );
    case "states":
      return diagram(one);
  }
}

/** As many lines as fit, and how many do not. */
function fitting(lines: readonly string[], room: number, rest: (more: string) => string): string {
  let length = 0;
  const fitting = lines.findIndex((line) => (length += line.length + 1) > room);
  if (fitting < 0) return lines.join("\n");
  return [...lines.slice(0, fitting), rest((lines.length - fitting).toLocaleString("en-US"))].join("\n");
}

/** A small state diagram of Mermaid; words of others never get into it. */
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

/** Apart from the words of the diagram's own language. */
const idOf = (state: string): string => `s_${state}`;

/** Lines with their kind in front. None takes the room of all others; `all` shows those that are left out. */
function phrases(
  lines: readonly (readonly [kind: string, line: Phrase])[],
  room: number,
  all: string,
): string {
  return fitting(
    lines.map(([kind, line]) => `- **${kind}** ${markdownWithin(line, room / 4)}`),
    room,
    (more) => `- and ${more} more: ${all} lists them`,
  );
}

/** What was said: its first line, and below it what followed, as it was. */
function messages(all: readonly Message[], room: number): string {
  const items = all.map(({ about, text }) => {
    const [first = "", ...rest] = text.split("\n");
    const start = about === undefined ? "" : `${span(cut(about, 120))}: `;
    const head = `- ${start}${within(first, Math.min(2_000, room / 4), prose)}`;
    if (rest.length === 0) return head;
    const lines = fitting(
      rest.flatMap((line) => wrapped(cut(escapeInvisible(line), 2_000))),
      room / 4,
      (more) => `… and ${more} more`,
    ).split("\n");
    return `${head}\n\n${fenced("text", lines).replace(/^/gm, "  ")}\n`;
  });
  return fitting(items, room, (more) => `- and ${more} more`).trimEnd();
}

const COLUMNS = 100;

/** A line that is too long for a block without scrolling goes on below, further in. */
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

/** Text that is folded away under a line. */
function details(summary: string, body: string, as: "text" | "html" = "text"): string {
  const line = as === "html" ? summary : html(summary);
  return `<details><summary>${line}</summary>\n\n${body}\n\n</details>`;
}
