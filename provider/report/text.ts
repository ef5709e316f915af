import Table from "cli-table3";
import type { Document, ListItem } from "./document";
import { digestLine, INVENTORY, NEW_VERSIONS } from "./lines";
import { OPERATION, type Block, type Message, type Section } from "./model";
import { escapeInvisible } from "../api/printable";
import { counted } from "./values";

/** Formats the whole report for a terminal or log, without truncation. */
export function toText(document: Document): string {
  const { title, headline, notes, errors, first, digest, warnings, newVersions, inventory, sections, lists } =
    document;
  return [
    `edgeguard: ${escapeInvisible(title)}`,
    headline,
    ...notes.map((note) => `Note: ${escapeInvisible(note.toString())}`),
    ...listed("The preview failed", errors.map(messageText)),
    ...listed(
      "Review these first",
      first.map(([kind, line]) => `${kind}: ${escapeInvisible(line.toString())}`),
    ),
    ...(digest === undefined ? [] : [digestLine(digest).toString()]),
    ...listed(counted(warnings.length, "warning"), warnings.map(messageText)),
    ...listed(NEW_VERSIONS, newVersions.map(messageText)),
    ...(inventory === undefined
      ? []
      : [
          escapeInvisible(`${INVENTORY}: ${inventory.summary.toString()}`),
          ...listed(
            "Findings",
            inventory.findings.map((finding) => escapeInvisible(finding.toString())),
          ),
        ]),
    ...sections.map(section),
    ...lists.flatMap((list) => listed(list.title, list.items.map(itemText), "")),
  ]
    .join("\n\n")
    .concat("\n");
}

function itemText({ sign, type, name, more }: ListItem): string {
  const behind = more === undefined ? "" : `: ${more.toString()}`;
  return escapeInvisible(`${sign} ${type} ${name}${behind}`);
}

/** @param bullet the text before each item. Items that start with a sign don't need one. */
function listed(title: string, items: readonly string[], bullet = "- "): string[] {
  if (items.length === 0) return [];
  return [`${title}:\n${items.map((item) => `  ${bullet}${item.replaceAll("\n", "\n    ")}`).join("\n")}`];
}

function messageText({ about, text }: Message): string {
  const lines = text.split("\n").map(escapeInvisible).join("\n");
  return about === undefined ? lines : `${escapeInvisible(about)}: ${lines}`;
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
