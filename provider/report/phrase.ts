import { trimEnd } from "../api/printable";

/**
 * A name or value from the plan within a sentence. It's formatted as code, so that none of it is interpreted as markup.
 */
interface Value {
  readonly value: string;
  /** Whether the value is shown without quotes in plain text. */
  readonly bare?: true;
}

/** One line of a report: words interspersed with values. */
export class Phrase {
  constructor(readonly parts: readonly (string | Value)[]) {}

  toString(): string {
    const [first, ...others] = this.parts;
    if (first === undefined) return "";
    // Quotes show where a value with spaces ends.
    const quoted = ({ value, bare }: Value): string =>
      bare !== true && /\s/.test(value) ? JSON.stringify(value) : value;
    if (others.length === 0) return typeof first === "string" ? first : first.value;
    return this.parts.map((part) => (typeof part === "string" ? part : quoted(part))).join("");
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Builds a sentence from a template literal. Strings become values; numbers and phrases become words. */
export function say(
  strings: TemplateStringsArray,
  ...between: readonly (string | number | Phrase)[]
): Phrase {
  return new Phrase(
    strings.flatMap((text, index) => {
      const next = between[index];
      if (next === undefined) return [text];
      if (next instanceof Phrase) return [text, ...next.parts];
      return [text, typeof next === "number" ? String(next) : { value: next }];
    }),
  );
}

export const words = (text: string): Phrase => new Phrase(text === "" ? [] : [text]);
export const value = (text: string): Phrase => new Phrase([{ value: text }]);

/** Splits a sentence so that hosts and URLs become values. Otherwise, Markdown viewers would turn them into links. */
export function unlinked(text: string): Phrase {
  const parts: (string | Value)[] = [];
  let end = 0;
  for (const { 0: word, index } of text.matchAll(/[^\s,()]+/g)) {
    const address = trimEnd(word, ".:"); // What follows it ends the sentence.
    if (!/[a-z]:\/\/.|^www\..|.\.[a-z]./i.test(address)) continue;
    parts.push(text.slice(end, index), { value: address });
    end = index + address.length;
  }
  return new Phrase([...parts, text.slice(end)]);
}

/** Formats the name of a resource or stack. */
export const name = (text: string): Phrase => new Phrase([{ value: text, bare: true }]);

export function joined(phrases: readonly Phrase[], between = ", "): Phrase {
  return new Phrase(phrases.flatMap(({ parts }, index) => (index === 0 ? parts : [between, ...parts])));
}

/** Joins phrases: `a`, `a and b`, `a, b and c`. */
export function series(phrases: readonly Phrase[]): Phrase {
  const last = phrases.slice(-1);
  return phrases.length < 2 ? joined(last) : joined([joined(phrases.slice(0, -1)), ...last], " and ");
}

/** Parses the values in a comma-separated list, which may end in `…`. */
export function valuesOf(listed: string): Phrase {
  const [, names = "", more = ""] = /^(.*?)((?:,)? …)?$/s.exec(listed) ?? [];
  return joined([joined(names.split(", ").map(value)), words(more)], "");
}
