import { oneLine } from "../names";

/** The width of a program's lines. */
export const WIDTH = 110;

/** Returns the comment at the top of the program. @param name what a resource's name is in this language: `its key`. */
export function header(name: string): string {
  return (
    "Written by `edgeguard import`. From now on, this program is the source of truth. Edit, move and split it as you like, but " +
    `keep each resource's name (${name}) or add an alias.`
  );
}

export const CREDENTIALS =
  "Credentials come from the stack's encrypted configuration. Set them before the first preview:";

/** Breaks a text into the lines of a comment. A line break in the text can't end the comment. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of oneLine(text).split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  return [...lines, line];
}
