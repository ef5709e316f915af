import { visible } from "../api/printable";

/** Names of the generated program: from what people called their objects, and each once. */

const MAX_CHARACTERS = 48;

/**
 * `checkout-own-scripts` of "Checkout: own scripts". Empty where nothing of the text can stand in a name.
 */
export function slug(text: string): string {
  const words = text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "") // What is left of an accent.
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  let name = "";
  for (const word of words) {
    if (name !== "" && name.length + 1 + word.length > MAX_CHARACTERS) break;
    name += name === "" ? word.slice(0, MAX_CHARACTERS) : `-${word}`;
  }
  return name;
}

/** Gives each name once: a second `checkout` becomes `checkout-2`. */
export class UniqueNames {
  readonly #taken: Set<string>;
  readonly #between: string;

  /** @param between what stands before the number. */
  constructor(taken: Iterable<string> = [], between = "-") {
    this.#taken = new Set(taken);
    this.#between = between;
  }

  /** @param candidates the first that is not empty is meant. */
  take(...candidates: readonly string[]): string {
    const wanted = candidates.find((name) => name !== "") ?? "resource";
    let name = wanted;
    for (let number = 2; this.#taken.has(name); number += 1) name = `${wanted}${this.#between}${number}`;
    this.#taken.add(name);
    return name;
  }
}

/** Words that TypeScript keeps for itself in a module. */
const RESERVED = new Set(
  (
    "await break case catch class const continue debugger default delete do else enum export extends false finally for " +
    "function if implements import in instanceof interface let new null package private protected public return static " +
    "super switch this throw true try typeof var void while with yield arguments eval undefined exports module require"
  ).split(" "),
);

/** `checkoutOwnScripts` of `checkout-own-scripts`; with a word in front where it could not stand alone. */
export function identifier(name: string, before: string): string {
  const camel = name.replace(/-+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  const isFit = /^[a-z]/.test(camel) && !RESERVED.has(camel);
  return isFit ? camel : `${before}${camel.charAt(0).toUpperCase()}${camel.slice(1)}`;
}

/** Text of the service for one line of a terminal or of a script: nothing in it may begin another. */
export function oneLine(text: string): string {
  return visible(text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, " ").trim());
}
