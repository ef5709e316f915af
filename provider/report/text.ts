import Table from "cli-table3";
import type { Document, Line, ListItem, Part } from "./document";
import { OPERATION, type Block, type Section } from "./model";
import { escapeInvisible } from "../basics/printable";

/** Formats the whole report for a terminal or log, without truncation. */
export function toText({ title, headline, notes, parts, sections, lists }: Document): string {
  return [
    `edgeguard: ${escapeInvisible(title)}`,
    headline,
    ...notes.map((note) => `Note: ${escapeInvisible(note.toString())}`),
    ...parts.map(part),
    ...sections.map(section),
    ...lists
      .filter(({ items }) => items.length > 0)
      .map((list) => listed(`${list.title}:`, list.items.map(itemText))),
  ]
    .join("\n\n")
    .concat("\n");
}

function part({ title, intro, lines }: Part): string {
  const head = [...(title === undefined ? [] : [title]), ...(intro === undefined ? [] : [intro.toString()])];
  const items = lines.map((line) => `- ${lineText(line)}`);
  return listed(escapeInvisible(head.join(": ")) + (intro === undefined ? ":" : ""), items);
}

function lineText({ kind, about = kind, text, below = [] }: Line): string {
  const first = about === undefined ? text.toString() : `${about}: ${text.toString()}`;
  return [first, ...below].map(escapeInvisible).join("\n");
}

function itemText({ sign, type, name, more }: ListItem): string {
  const behind = more === undefined ? "" : `: ${more.toString()}`;
  return escapeInvisible(`${sign} ${type} ${name}${behind}`);
}

function listed(head: string, items: readonly string[]): string {
  return [head, ...items.map((item) => `  ${item.replaceAll("\n", "\n    ")}`)].join("\n");
}

function section({ op, kind, name, summary, blocks }: Section): string {
  const behind = summary.toString() === "" ? "" : `: ${summary.toString()}`;
  const title = escapeInvisible(`${OPERATION[op].sign} ${kind} ${name}${behind}`);
  return [title, ...blocks.map((one) => block(one).replace(/^/gm, "    "))].join("\n");
}

function block(one: Block): string {
  switch (one.is) {
    case "text":
      return escapeInvisible(one.text.toString());
    case "list":
      return one.items.map((item) => `- ${escapeInvisible(item.toString())}`).join("\n");
    case "table": {
      const table = new Table({ head: [...one.head], style: { head: [], border: [], compact: true } });
      table.push(...one.rows.map((row) => row.map((cell) => escapeInvisible(cell.toString()))));
      return table.toString();
    }
    case "code":
      return one.lines.map(escapeInvisible).join("\n");
    case "states":
      return [
        ...one.edges.map(([from, to]) => `${from} -> ${to}`),
        `now: ${one.now ?? "unknown"}`,
        ...(one.next === undefined ? [] : [`next: ${one.next}`]),
      ].join("\n");
  }
}
