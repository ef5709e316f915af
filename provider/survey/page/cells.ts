import type { Cell, NotReadable } from "../model";

/** How the page reads and words the model. Its script can't load the model's own functions, which need a library. */

/** The cell's value; undefined if it couldn't be read. */
export function valueOf<T>(given: Cell<T>): Exclude<T, NotReadable> | undefined {
  return isReadable(given) ? given : undefined;
}

function isReadable<T>(given: Cell<T>): given is Exclude<T, NotReadable> {
  return !(typeof given === "object" && given !== null && "notReadable" in given);
}

/** The cell as text, in the same words as survey.csv where it couldn't be read. */
export function textOf<T>(given: Cell<T>, word: (value: Exclude<T, NotReadable>) => string): string {
  if (isReadable(given)) return word(given);
  const { notReadable: why, what } = given as NotReadable; // What isn't readable has nothing else.
  const reasons = { right: `right ${what}`, plan: `plan (${what})`, account: what, failed: what };
  return `not readable: ${reasons[why]}`;
}

export function amount(count: number): string {
  return count.toLocaleString("en");
}

/** `1 zone`, `2 zones`, `2 policies` */
export function counted(count: number, noun: string): string {
  const plural = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${amount(count)} ${count === 1 ? noun : plural}`;
}

/** A time of the API, to the minute. */
export function timeOf(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

export function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
