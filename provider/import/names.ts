import { escapeInvisible } from "../api/printable";

/** Names in the generated program: from what people called their objects, each once, each an identifier. */

const MAX_CHARACTERS = 64;

/**
 * `checkout-own-scripts` for "Checkout: own scripts". Empty where nothing in the text fits in a name.
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

/** The hosts that an expression compares `http.host` with: `http.host in {"www.shop.example" "shop.example"}`. */
export function hostsIn(expression: unknown): readonly string[] {
  if (typeof expression !== "string") return [];
  const compared = expression.matchAll(/\bhttp\.host\s+(?:eq|==|in)\s+(\{[^{}]*\}|"[^"]*")/g);
  const texts = [...compared].flatMap(([, values = ""]) => values.match(/(?<=")[^"\s]+(?=")/g) ?? []);
  return [...new Set(texts.map((host) => host.toLowerCase()))].sort();
}

/** The longest domain that all hosts have in common, of two labels or more; empty where there is none. */
export function commonDomain(hosts: readonly string[]): string {
  const [first = [], ...others] = hosts.map((host) => host.split(".").reverse());
  const end = first.findIndex((label, i) => others.some((labels) => labels[i] !== label));
  const labels = end === -1 ? first : first.slice(0, end);
  return labels.length < 2 ? "" : labels.reverse().join(".");
}

/** What an object may be called. */
export interface Named {
  readonly id: string;
  /** What people called it, and what tells it from others that are called the same; best first. */
  readonly labels: readonly string[];
}

/** Of an ID, where a name needs it. */
export const ID_CHARACTERS = 8;

/**
 * A name for each, from its first label. Objects with the same label take their further labels too, and last the
 * beginning of their ID: in whatever order they are listed, each keeps its name.
 *
 * @param fallback for an object without a label.
 */
export function distinctNames(objects: readonly Named[], fallback: string): readonly string[] {
  const words = objects.map(({ labels }) => labels.map(slug));
  const most = Math.max(0, ...words.map(({ length }) => length));
  let names = words.map(([first = ""]) => (first === "" ? fallback : first));
  for (let next = 1; next < most; next += 1) names = withMore(names, (i) => words[i]?.[next] ?? "");
  names = withMore(names, (i) => slug(objects[i]?.id ?? "").slice(0, ID_CHARACTERS));
  const unique = new UniqueNames(); // For two IDs that begin alike.
  return names.map((name) => unique.take(identifier(name, fallback)));
}

/** Names with another word each, where several are the same and the word tells some of them apart. */
function withMore(names: readonly string[], more: (index: number) => string): string[] {
  const identifiers = names.map((name) => identifier(name, ""));
  const words = new Map<string, Set<string>>();
  for (const [i, each] of identifiers.entries()) words.set(each, (words.get(each) ?? new Set()).add(more(i)));
  return names.map((name, i) => {
    const word = (words.get(identifiers[i] ?? "")?.size ?? 0) > 1 ? more(i) : "";
    return word === "" || name.endsWith(word) ? name : `${name}-${word}`;
  });
}

/** Gives each name once: a second `checkout` becomes `checkout2`. */
export class UniqueNames {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  take(wanted: string): string {
    let name = wanted;
    for (let number = 2; this.#taken.has(name); number += 1) name = `${wanted}${number}`;
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

/** `checkoutOwnScripts` for `checkout-own-scripts`; with a word in front where it is not an identifier. */
export function identifier(name: string, before: string): string {
  const camel = name
    .replace(/^-+|-+$/g, "")
    .replace(/(\d)-+(?=\d)/g, "$1_") // 10-2 and 102 are two numbers.
    .replace(/-+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  const isFit = /^[a-z]/.test(camel) && !RESERVED.has(camel);
  return isFit ? camel : `${before}${camel.charAt(0).toUpperCase()}${camel.slice(1)}`;
}

/** Text from Cloudflare for one line of a terminal or of a script: nothing in it may begin another. */
export function oneLine(text: string): string {
  return escapeInvisible(text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, " ").trim());
}
