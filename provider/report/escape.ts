import type { Phrase } from "./phrase";
import { escapeInvisible } from "../api/printable";
import { truncate } from "./values";

/** Escapes text from a plan so that it's plain text in a comment, even if it looks like markup, a mention or a
 * reference.
 */

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

export function markdown({ parts }: Phrase): string {
  return parts.map((part) => (typeof part === "string" ? prose(part) : span(part.value))).join("");
}

/** The same as `markdown`, but truncates to `room` characters with an ellipsis. */
export function markdownWithin({ parts }: Phrase, room: number): string {
  let text = "";
  for (const part of parts) {
    const fits = room - text.length - ELLIPSIS.length;
    const write = (given: string): string => (typeof part === "string" ? prose(given) : span(given));
    const given = typeof part === "string" ? part : part.value;
    const whole = write(given);
    if (whole.length > fits) return `${text}${proseWithin(given, fits, write)}${ELLIPSIS}`;
    text += whole;
  }
  return text;
}

const ELLIPSIS = "…";

/** Writes as much of a text as fits into `room` characters. Some characters take up eight when escaped. */
export function proseWithin(text: string, room: number, write: (text: string) => string): string {
  for (let limit = Math.min(text.length, room); limit > 1; limit = Math.floor(limit * 0.7)) {
    const written = write(truncate(text, limit));
    if (written.length <= room) return written;
  }
  return "";
}

/** Formats a table cell. A `|` would end it, even inside code. */
export function inTable({ parts }: Phrase): string {
  const cell = parts.map((part) => {
    if (typeof part === "string") return prose(part);
    return part.value.includes("|") ? `<code>${asEntities(part.value)}</code>` : span(part.value);
  });
  return cell.join("") || " ";
}

/** Replaces punctuation with numeric entities. */
function asEntities(text: string): string {
  return escapeInvisible(text).replace(/[!-/:-@[-`{-~]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** Escapes text for an HTML block, where Markdown isn't interpreted. */
export const html = (text: string): string => unlinked(entities(text));

function entities(text: string): string {
  return escapeInvisible(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

export function htmlOf({ parts }: Phrase): string {
  return parts
    .map((part) => (typeof part === "string" ? html(part) : `<code>${entities(part.value)}</code>`))
    .join("");
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
