import { InvalidArgumentError } from "commander";
import { IDENTIFIER } from "../limits";
import { isId } from "../runtime/fields";

/** The ID of a zone, an account or a namespace, as an option's value. */
export function hexId(text: string): string {
  if (isId(text)) return text.toLowerCase();
  throw new InvalidArgumentError(
    `An ID has ${IDENTIFIER.LENGTH_CHARACTERS} hexadecimal digits. The dashboard shows it: for a zone or an account on its Overview page.`,
  );
}

/** Some of the known words, separated by commas. */
export function wordsAmong<T extends string>(known: readonly T[]): (text: string) => readonly T[] {
  return (text) =>
    text.split(",").map((given) => {
      const word = known.find((each) => each === given.trim());
      if (word === undefined) throw new InvalidArgumentError(`Choose from ${known.join(", ")}.`);
      return word;
    });
}
