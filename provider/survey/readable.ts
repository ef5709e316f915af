import type { Cell, NotReadable } from "./model";

/**
 * Reads and formats cells, which may not be readable. The page's script also uses this module, so it doesn't import any
 * libraries.
 */

export function isReadable<T>(given: Cell<T>): given is Exclude<T, NotReadable> {
  return !isNotReadable(given);
}

export function isNotReadable(given: unknown): given is NotReadable {
  return typeof given === "object" && given !== null && "notReadable" in given;
}

/** Returns the cell's value. Undefined if it couldn't be read. */
export function valueOf<T>(given: Cell<T>): Exclude<T, NotReadable> | undefined {
  return isReadable(given) ? given : undefined;
}

/** Converts the cell's value, unless it couldn't be read. */
export function mapCell<T, R>(given: Cell<T>, map: (value: Exclude<T, NotReadable>) => R): Cell<R> {
  return isReadable(given) ? map(given) : (given as NotReadable);
}

/** Returns a cell's text: its value, as the caller formats it, or why it couldn't be read. */
export function textOf<T, R = string>(
  given: Cell<T>,
  word: (value: Exclude<T, NotReadable>) => R,
): R | string {
  return isReadable(given) ? word(given) : notReadableText(given as NotReadable);
}

const REASONS: Readonly<Record<NotReadable["notReadable"], (what: string) => string>> = {
  right: (what) => `missing permission ${what}`,
  plan: (what) => `not in the plan (${what})`,
  account: (what) => what,
  failed: (what) => what,
};

export const NOT_READABLE = "not readable";

/** Returns the text for a cell that couldn't be read, such as "not readable: missing permission Page Shield Read". */
export function notReadableText({ notReadable: why, what }: NotReadable): string {
  return `${NOT_READABLE}: ${REASONS[why](what)}`;
}
