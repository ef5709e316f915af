import { escapeInvisible } from "../basics/printable";

const MAX_CHARACTERS = 64;

/** Converts "Checkout: own scripts" to `checkout-own-scripts`. Empty if nothing in the text can be part of a name. */
export function slug(text: string): string {
  const words = text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "") // Removes the accents that NFKD split off.
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

/** Finds the hosts that an expression compares `http.host` with: `http.host in {"www.shop.example" "shop.example"}`. */
export function hostsIn(expression: unknown): readonly string[] {
  if (typeof expression !== "string") return [];
  const compared = expression.matchAll(/\bhttp\.host\s+(?:eq|==|in)\s+(\{[^{}]*\}|"[^"]*")/g);
  const texts = [...compared].flatMap(([, values = ""]) => values.match(/(?<=")[^"\s]+(?=")/g) ?? []);
  return [...new Set(texts.map((host) => host.toLowerCase()))].sort();
}

/** An object that needs a name. */
export interface Named {
  readonly id: string;
  /**
   * What people call the object, followed by labels that distinguish it from other objects with that name. The best
   * label comes first.
   */
  readonly labels: readonly string[];
}

/** How many characters of an ID to use in a name. */
export const ID_CHARACTERS = 8;

/**
 * Names each object after its first label. If several objects share a label, their other labels are added, and finally
 * the start of their IDs. The names don't depend on the order.
 *
 * @param fallback the name for an object without a label.
 */
export function distinctNames(objects: readonly Named[], fallback: string): readonly string[] {
  const words = objects.map(({ labels }) => labels.map(slug));
  const most = Math.max(0, ...words.map(({ length }) => length));
  let names = words.map(([first = ""]) => (first === "" ? fallback : first));
  for (let next = 1; next < most; next += 1) names = withMore(names, (i) => words[i]?.[next] ?? "");
  names = withMore(names, (i) => slug(objects[i]?.id ?? "").slice(0, ID_CHARACTERS));
  const unique = new UniqueNames(); // In case two IDs begin the same way.
  return names.map((name) => unique.claim(identifier(name, fallback)));
}

/** Adds a word to names that occur several times, if the word distinguishes some of them. */
function withMore(names: readonly string[], more: (index: number) => string): string[] {
  const identifiers = names.map((name) => identifier(name, ""));
  const words = new Map<string, Set<string>>();
  for (const [i, each] of identifiers.entries()) words.set(each, (words.get(each) ?? new Set()).add(more(i)));
  return names.map((name, i) => {
    const word = (words.get(identifiers[i] ?? "")?.size ?? 0) > 1 ? more(i) : "";
    return word === "" || name.endsWith(word) ? name : `${name}-${word}`;
  });
}

/** Makes names unique: a second `checkout` becomes `checkout2`. */
export class UniqueNames {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  claim(wanted: string): string {
    let name = wanted;
    for (let number = 2; this.#taken.has(name); number += 1) name = `${wanted}${number}`;
    this.#taken.add(name);
    return name;
  }
}

/** Reserved words in a TypeScript module. */
const RESERVED = new Set(
  (
    "await break case catch class const continue debugger default delete do else enum export extends false finally for " +
    "function if implements import in instanceof interface let new null package private protected public return static " +
    "super switch this throw true try typeof var void while with yield arguments eval undefined exports module require"
  ).split(" "),
);

/**
 * Converts `checkout-own-scripts` to `checkoutOwnScripts`. Prefixes it with `before` if the result isn't an identifier.
 */
export function identifier(name: string, before: string): string {
  const camel = name
    .replace(/^-+|-+$/g, "")
    .replace(/(\d)-+(?=\d)/g, "$1_") // Keeps 10-2 distinct from 102.
    .replace(/-+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  const isFit = /^[a-z]/.test(camel) && !RESERVED.has(camel);
  return isFit ? camel : `${before}${camel.charAt(0).toUpperCase()}${camel.slice(1)}`;
}

/** Quotes a word for a POSIX shell. */
export function quotedForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Converts text from Cloudflare to a single line for a terminal or script. */
export function oneLine(text: string): string {
  return escapeInvisible(text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, " ").trim());
}
