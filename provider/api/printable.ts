/** What text from outside (answers, names, files) may not do: move a cursor, hide something, or order a CI about. */

const INVISIBLE = /[\p{Cc}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;
const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** `::add-mask::x` at the start of a line (GitHub), `##[group]` and `##vso[…]` anywhere (GitHub, Azure), Pulumi's colors. */
const COMMANDS: readonly (readonly [RegExp, string])[] = [
  [/^(\s*):(?=:[a-z][\w-]*(?: .*)?::)/i, "$1\\:"],
  [/##(?=\[|vso\[)/gi, "#\\#"],
  [/<(?=\{%)/g, "<\\"],
];

/** As one line: line breaks, control characters, and what turns the direction of writing, as escapes; no CI command. */
export function escapeInvisible(text: string): string {
  const line = text.replace(
    INVISIBLE,
    (sign) => ESCAPES[sign] ?? `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return COMMANDS.reduce((shown, [command, harmless]) => shown.replace(command, harmless), line);
}

/** A message of ours, which may have several lines. */
export function printable(message: string): string {
  return message.split("\n").map(escapeInvisible).join("\n");
}

/**
 * The text without these characters at its end. By hand, as `/[.]+$/` looks again from each character of a long run that
 * does not stand at the end: 200,000 dots in an error took minutes.
 */
export function trimEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
