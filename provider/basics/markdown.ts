import { escapeInvisible } from "./printable";

/** Escapes untrusted text for Markdown, so that it stays text even if it looks like markup, a mention or a reference. */

/** Keeps text from mentioning a user or linking to another issue on GitHub. */
function unlinked(text: string): string {
  return text.replace(
    /(?<!\w)@(?=\w)|#(?=\d)|(?<=\bGH)-(?=\d)|:(?=[\w+-]+:)|\bwww(?=\.)/gi,
    (sign) => `${sign}&#8203;`,
  );
}

/** Formats text as one line of Markdown. */
export function prose(text: string): string {
  const escaped = escapeInvisible(text)
    .replace(/[\\`*_[\]~|<>$]/g, (sign) => `\\${sign}`)
    .replace(/&/g, "&amp;");
  return unlinked(escaped)
    .replace(/^(\s*\d+)([.)])/, "$1\\$2")
    .replace(/^(\s*)([-+=#])/, "$1\\$2");
}

/** Formats a code span. Its fence is longer than any run of backticks inside. */
export function span(value: string): string {
  const text = escapeInvisible(value);
  const fence = "`".repeat(longestRun([text]) + 1);
  const room = /^[` ]|[` ]$/.test(text) ? " " : "";
  return text === "" ? "" : `${fence}${room}${text}${room}${fence}`;
}

/** Formats a code span for a table cell. A `|` would end the cell, even inside code. */
export function cellSpan(value: string): string {
  if (!value.includes("|")) return span(value);
  const text = escapeInvisible(value).replace(/[!-/:-@[-`{-~]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return `<code>${text}</code>`;
}

/** Formats a code block. Its fences are longer than any run of backticks inside. */
export function fenced(language: string, lines: readonly string[]): string {
  const shown = lines.map(escapeInvisible);
  const fence = "`".repeat(Math.max(2, longestRun(shown)) + 1);
  return [`${fence}${language}`, ...shown, fence].join("\n");
}

const longestRun = (lines: readonly string[]): number =>
  lines.reduce(
    (longest, line) => (line.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), longest),
    0,
  );

/** Escapes text for an HTML block, where Markdown isn't interpreted. */
export const html = (text: string): string => unlinked(entities(text));

/** Formats code in an HTML block. */
export const htmlCode = (text: string): string => `<code>${entities(text)}</code>`;

function entities(text: string): string {
  return escapeInvisible(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
