/** Makes untrusted text (responses, names, files) safe to print: no cursor movements, no hidden text, no CI commands.
 */

/** Characters that hide text, change its direction, or aren't allowed in a file. A survey's page also escapes them. */
export const INVISIBLE = /[\p{Cc}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/gu;
const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Text that CI systems or Pulumi would interpret: `::add-mask::x` at the start of a line (GitHub), `##[group]` and
 * `##vso[…]` anywhere (GitHub, Azure), Pulumi's colors.
 */
const COMMANDS: readonly (readonly [RegExp, string])[] = [
  [/^(\s*):(?=:[a-z][\w-]*(?: .*)?::)/i, "$1\\:"],
  [/##(?=\[|vso\[)/gi, "#\\#"],
  [/<(?=\{%)/g, "<\\"],
];

/** Returns the text as one line, with line breaks, control characters and direction marks escaped, and CI commands
 * defused.
 */
export function escapeInvisible(text: string): string {
  const line = text.replace(INVISIBLE, (character) => ESCAPES[character] ?? unicodeEscape(character));
  return COMMANDS.reduce((safe, [command, escaped]) => safe.replace(command, escaped), line);
}

/** Escapes a character as in JSON and JavaScript: `\u202e`. */
export function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Escapes invisible characters, but keeps line breaks and tabs. JSON stays the same value. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) =>
    /[\n\t]/.test(character) ? character : unicodeEscape(character),
  );
}

/** Makes one of this package's messages safe to print, keeping its line breaks. */
export function printable(message: string): string {
  return message.split("\n").map(escapeInvisible).join("\n");
}

/**
 * Removes the given characters from the end of a text. A regular expression such as `/[.]+$/` is quadratic: 200,000
 * dots in an error took minutes.
 */
export function trimEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
