import { fenced, html, inTable, markdown, markdownWithin, prose, span, within } from "./escape";
import type { Block, Message } from "./model";
import type { Phrase } from "./phrase";
import { visible } from "../api/printable";
import { cut } from "./values";

/** Parts of a report as Markdown, each of a bounded length: what is left out of one is said in its place. */

const ROOM = 12_000;

export function block(one: Block, room = ROOM): string {
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
export function phrases(
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
export function messages(all: readonly Message[], room: number): string {
  const items = all.map(({ about, text }) => {
    const [first = "", ...rest] = text.split("\n");
    const start = about === undefined ? "" : `${span(cut(about, 120))}: `;
    const head = `- ${start}${within(first, Math.min(2_000, room / 4), prose)}`;
    if (rest.length === 0) return head;
    const lines = fitting(
      rest.flatMap((line) => wrapped(cut(visible(line), 2_000))),
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
  const text = visible(line);
  if (text.length <= COLUMNS) return [text];
  const indent = /^ */.exec(text)?.[0] ?? "";
  const end = text.lastIndexOf(" ", COLUMNS);
  if (end <= indent.length + INDENT) return [text];
  const rest = `${indent}${indent.endsWith(" ".repeat(INDENT)) ? "" : " ".repeat(INDENT)}${text.slice(end + 1)}`;
  return [text.slice(0, end), ...wrapped(rest)];
}

const INDENT = 4;

/** Text that is folded away under a line. */
export function details(summary: string, body: string, as: "text" | "html" = "text"): string {
  const line = as === "html" ? summary : html(summary);
  return `<details><summary>${line}</summary>\n\n${body}\n\n</details>`;
}
