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

/** Parses an option's value as a zone's ID or name. */
export function zoneGiven(text: string): string {
  // A name has a dot, so anything else was meant as an ID.
  return /^[^\s./]+(\.[^\s./]+)+$/.test(text) ? text : hexId(text);
}

/**
 * Parses an option's value as a comma-separated list of words from `known`.
 *
 * @param what what each word is, such as `a product`.
 */
export function wordsAmong<T extends string>(what: string, known: readonly T[]): (text: string) => T[] {
  return (text) =>
    text.split(",").map((given) => {
      const word = known.find((each) => each === given.trim());
      if (word !== undefined) return word;
      const choice = `Choose from ${known.join(", ")}.`;
      throw new InvalidArgumentError(`${JSON.stringify(given)} is not ${what}. ${choice}`);
    });
}

/** Parses an option's value as a whole number. */
export function wholeNumber(
  least: number,
  most = Number.MAX_SAFE_INTEGER,
  what = `from ${least} to ${most}`,
): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Pass a whole number ${what}.`);
  };
}
