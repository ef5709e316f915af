import { block, details, messages, phrases } from "./blocks";
import { html, htmlOf, markdownWithin, prose, span } from "./escape";
import { countsLine, dangerLines } from "./lines";
import type { Report, Section } from "./model";
import { OPERATION } from "./operations";
import { joined, name as nameOf, say, value, words } from "./phrase";
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

/** Most characters of each part, so that none of them takes the place of all others. */
const ROOM = {
  note: 2_000,
  errors: 14_000,
  dangers: 12_000,
  warnings: 6_000,
  others: 4_000,
  cutLine: 1_500,
} as const;

/** The report as a pull-request comment of at most `limit` characters; what does not fit is named. */
export function toMarkdown(report: Report, limit = COMMENT_CHARACTERS): string {
  const { title, notes, errors, dangers, warnings, sections, others } = report;
  const top = [
    `${marker(title)}\n## edgeguard: ${prose(cut(title, 200))}`,
    `**${prose(countsLine(report))}**`,
    ...notes.map((note) => `> ${markdownWithin(note, ROOM.note)}`),
    ...(errors.length === 0 ? [] : ["### The preview failed", messages(errors, ROOM.errors)]),
    ...(dangers.length === 0
      ? []
      : ["### Look here first", phrases(dangerLines(dangers), ROOM.dangers, ALL_OF_IT)]),
    ...(warnings.length === 0
      ? []
      : [details(counted(warnings.length, "warning"), messages(warnings, ROOM.warnings))]),
  ];
  const bottom = others.length === 0 ? [] : [othersBlock(report)];
  const written = sections.map((section) => ({ section, text: sectionText(section) }));
  const taken = length([...top, ...bottom]) + ROOM.cutLine;
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
