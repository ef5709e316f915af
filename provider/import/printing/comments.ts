import { oneLine } from "../names";

/** Returns the lines at the top of the program. @param name what a resource's name is in this language: `its key`. */
export function header(name: string): readonly string[] {
  return [
    "Written by `edgeguard import`. From now on, this program is the source of truth.",
    `Edit, move and split it as you like, but keep each resource's name (${name}) or add an alias.`,
  ];
}

export const CREDENTIALS =
  "Credentials come from the stack's encrypted configuration. Set them before the first preview:";

/** Formats texts as lines of a comment. A line break in a text can't end the comment. */
export function commented(start: string, ...texts: readonly string[]): string {
  return texts.map((text) => start + oneLine(text)).join("\n");
}
