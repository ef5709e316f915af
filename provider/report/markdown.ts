import { escapeInvisible } from "../basics/printable";
import { formatNumber } from "../limits/workers";
import { fenced, html, prose, span } from "../basics/markdown";
import type { Document, DocumentList, Line, Part } from "./document";
import { OPERATION, type Block, type Section } from "./model";
import { inHtml, inTable, someOf, markdown, name as nameOf, say, value, words, type Phrase } from "./phrase";
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

/** The room for one block of a section. */
const BLOCK_CHARACTERS = 12_000;

/** Room for the line that names what's left out, and for what a pipeline adds about accepting the dangers. */
const RESERVED_CHARACTERS = { omittedLine: 1_500, pipeline: 300 } as const;

/** The characters that are left in a comment. */
class Budget {
  #left: number;

  constructor(characters: number) {
    this.#left = characters;
  }

  /** Adds a part that may take a quarter of what's left, so that no part crowds out the others. */
  add(write: (room: number) => string): string {
    const text = write(this.#left / 4);
    this.#left -= text.length + BETWEEN.length;
    return text;
  }

  /** Adds a text if it fits. */
  addWhole(text: string): boolean {
    const fits = text.length + BETWEEN.length <= this.#left;
    if (fits) this.#left -= text.length + BETWEEN.length;
    return fits;
  }
}

/**
 * Formats the report as a pull request comment of at most `limit` characters. Lists the names of resources that don't
 * fit.
 */
export function toMarkdown(document: Document, limit = COMMENT_CHARACTERS): string {
  const { kind, title, headline, notes, parts, urgent, sections, lists, command } = document;
  const all = span(command);
  const budget = new Budget(limit - RESERVED_CHARACTERS.omittedLine - RESERVED_CHARACTERS.pipeline);
  const top = [
    () => `${marker(title, kind)}\n## edgeguard: ${prose(truncate(title, 200))}`,
    () => `**${prose(headline)}**`,
    ...notes.map((note) => (room: number) => `> ${markdownWithin(note, room / 4)}`),
    ...parts.map((part) => (room: number) => partText(part, room, all)),
  ].map((write) => budget.add(write));
  const bottom = lists
    .filter(({ items }) => items.length > 0)
    .map((list) => budget.add((room) => listText(list, room)));
  const isUrgent = ({ kind, name }: Section): boolean => urgent.has(`${kind} ${name}`);
  const written = new Map<Section, string>();
  for (const section of [...sections.filter(isUrgent), ...sections.filter((each) => !isUrgent(each))]) {
    const text = sectionText(section);
    if (budget.addWhole(text)) written.set(section, text);
  }
  const left = sections.filter((section) => !written.has(section));
  const shown = [
    ...top,
    ...sections.flatMap((section) => written.get(section) ?? []),
    ...(left.length === 0 ? [] : [omittedLine(left, limit, all)]),
    ...bottom,
  ];
  return `${shown.join(BETWEEN)}\n`;
}

const BETWEEN = "\n\n";

/** @param all the command that lists the rest. */
function partText({ title, intro, lines, isCollapsed }: Part, room: number, all: string): string {
  const items = lines.map((line) => lineText(line, room / 4));
  const body = [
    ...(intro === undefined ? [] : [markdownWithin(intro, room / 4)]),
    ...(items.length === 0
      ? []
      : [fitLines(items, room, (more) => `- and ${more} more: ${all} shows all of them`).trimEnd()]),
  ].join(BETWEEN);
  if (title === undefined) return body;
  return isCollapsed === true ? details(html(title), body) : `### ${title}${BETWEEN}${body}`;
}

/** Formats a line as prose, and what's below it verbatim. */
function lineText({ kind, about, text, below = [] }: Line, room: number): string {
  const label = kind === undefined ? "" : `**${kind}** `;
  const start = about === undefined ? label : `${span(truncate(about, 120))}: `;
  const head = `- ${start}${markdownWithin(text, room)}`;
  if (below.length === 0) return head;
  const wrappedLines = below.flatMap((line) => wrapped(truncate(escapeInvisible(line), 2_000)));
  return `${head}\n\n${codeBlock("text", wrappedLines, room).replace(/^/gm, "  ")}\n`;
}

function codeBlock(language: string, lines: readonly string[], room: number): string {
  return fenced(language, fitLines(lines, room, (more) => `… and ${more} more`).split("\n"));
}

function sectionText({ op, kind, name, summary, blocks }: Section): string {
  const behind = summary.toString() === "" ? "" : `: ${inHtml(summary)}`;
  const title = `${OPERATION[op].sign} ${html(kind)} <b>${html(truncate(name, 100))}</b>${behind}`;
  // HTML, because Markdown would read a leading + or - as a list item.
  return blocks.length === 0
    ? `<p>${title}</p>`
    : details(title, blocks.map((one) => block(one)).join(BETWEEN));
}

const MOST_NAMED = 10;

function omittedLine(left: readonly Section[], limit: number, all: string): string {
  const names = left.map(({ kind, name }) => nameOf(truncate(`${kind} ${name}`, 80)));
  const what = say`${words(counted(left.length, "resource"))} left out to stay within the comment's limit of ${words(formatNumber(limit))} characters: ${someOf(names, MOST_NAMED)}`;
  return `_${markdownWithin(what, RESERVED_CHARACTERS.omittedLine - 100)}._ ${all} shows all of them.`;
}

function listText({ title, items }: DocumentList, room: number): string {
  const hasMore = items.some(({ more }) => more !== undefined);
  const rows = items.map(({ words: what, type, name, more = words("") }) => [
    words(what),
    value(truncate(type, 80)),
    value(truncate(name, 80)),
    ...(hasMore ? [more] : []),
  ]);
  const head = ["", "type", "name", ...(hasMore ? [""] : [])];
  return details(html(title), block({ is: "table", head, rows }, room));
}

function block(one: Block, room = BLOCK_CHARACTERS): string {
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
      return codeBlock(
        one.language,
        one.lines.map((line) => truncate(line, 500)),
        room,
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

/** Collapses text under a summary line, which is HTML. */
function details(summary: string, body: string): string {
  return `<details><summary>${summary}</summary>\n\n${body}\n\n</details>`;
}

/** Formats a phrase in at most `room` characters. Some characters take up eight when escaped. */
function markdownWithin(phrase: Phrase, room: number): string {
  let limit = Math.floor(room);
  let text = markdown(phrase.truncate(limit));
  while (limit > 0 && text.length > room) {
    limit = Math.floor(limit * 0.7);
    text = markdown(phrase.truncate(limit));
  }
  return text;
}
