import type { Cell, NotReadable } from "./model";

/** How parts that may not be readable are read and worded. The page's script uses this, too, so nothing here needs a library. */

export function isReadable<T>(given: Cell<T>): given is Exclude<T, NotReadable> {
  return !isNotReadable(given);
}

export function isNotReadable(given: unknown): given is NotReadable {
  return typeof given === "object" && given !== null && "notReadable" in given;
}

/** The cell's value; undefined if it couldn't be read. */
export function valueOf<T>(given: Cell<T>): Exclude<T, NotReadable> | undefined {
  return isReadable(given) ? given : undefined;
}

/** Replaces the cell's value, unless it couldn't be read. */
export function mapCell<T, R>(given: Cell<T>, map: (value: Exclude<T, NotReadable>) => R): Cell<R> {
  return isReadable(given) ? map(given) : (given as NotReadable);
}

/** What a cell says: its value in the caller's words, or why it couldn't be read. */
export function textOf<T, R = string>(
  given: Cell<T>,
  word: (value: Exclude<T, NotReadable>) => R,
): R | string {
  return isReadable(given) ? word(given) : notReadableText(given as NotReadable);
}

const REASONS: Readonly<Record<NotReadable["notReadable"], (what: string) => string>> = {
  right: (what) => `right ${what}`,
  notTried: (what) => `right ${what}, which other zones of the account refused (not tried in this one)`,
  plan: (what) => `plan (${what})`,
  account: (what) => what,
  failed: (what) => what,
};

/** "not readable: right Page Shield Read" */
export function notReadableText({ notReadable: why, what }: NotReadable): string {
  return `not readable: ${REASONS[why](what)}`;
}
