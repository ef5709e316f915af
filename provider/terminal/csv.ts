import { visible } from "../basics/printable";

/** The value of a CSV cell. Undefined means an empty cell. */
export type Cell = string | number | boolean | undefined;

/**
 * Formats a table as CSV (RFC 4180, with line feeds as line ends). Invisible characters are escaped. A cell that a
 * spreadsheet would run as a formula gets a leading apostrophe, so that it's shown as text.
 */
export function toCsv(head: readonly string[], rows: Iterable<readonly Cell[]>): string {
  return [head, ...rows].map(csvLine).join("");
}

/** Formats one line of a table, for tables that are written as they're read. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(",")}\n`;
}

/**
 * Spreadsheets run a cell that starts with one of these characters as a formula. Some also accept the full-width
 * forms.
 */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

function cellText(cell: Cell): string {
  const given = String(cell ?? "");
  const text = visible(FORMULA.test(given) ? `'${given}` : given);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
