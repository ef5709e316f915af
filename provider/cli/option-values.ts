import { InvalidArgumentError } from "commander";
import { IDENTIFIER } from "../limits";
import { ID } from "../runtime/fields";

/** The default file name of the script inventory. */
export const INVENTORY_FILE = "script-inventory.yaml";

/** Parses an option's value as the ID of a zone, account or namespace. */
export function hexId(text: string): string {
  if (ID.is(text)) return text.toLowerCase();
  throw new InvalidArgumentError(
    `An ID has ${IDENTIFIER.LENGTH_CHARACTERS} hex digits. Find a zone's or account's ID on its Overview page in the dashboard.`,
  );
}

/** Parses an option's value as a comma-separated list of words from `known`. */
export function wordsAmong<T extends string>(known: readonly T[]): (text: string) => readonly T[] {
  return (text) =>
    text.split(",").map((given) => {
      const word = known.find((each) => each === given.trim());
      if (word === undefined) throw new InvalidArgumentError(`Choose from ${known.join(", ")}.`);
      return word;
    });
}
