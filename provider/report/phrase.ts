import { trimEnd } from "../basics/printable";
import { formatNumber } from "../limits/workers";
import { cellSpan, html, htmlCode, prose, span } from "../basics/markdown";
import { truncate } from "../basics/words";

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

  /** Shortens the phrase to at most `limit` characters, with an ellipsis. */
  truncate(limit: number): Phrase {
    let left = limit;
    const parts: (string | Value)[] = [];
    for (const part of this.parts) {
      const text = typeof part === "string" ? part : part.value;
      const shown = left > 0 ? truncate(text, left) : "";
      parts.push(typeof part === "string" ? shown : { ...part, value: shown });
      left -= text.length;
    }
    return left < 0 ? new Phrase(parts) : this;
  }

  /** Formats the words with one function and the values with another. */
  format(words: (text: string) => string, value: (text: string) => string): string {
    return this.parts.map((part) => (typeof part === "string" ? words(part) : value(part.value))).join("");
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

/** Lists at most `most` of the phrases: `a, b and 3 more`. */
export function someOf(phrases: readonly Phrase[], most: number, what = "more"): Phrase {
  const left = phrases.length - most;
  const shown = joined(phrases.slice(0, most));
  return left > 0 ? say`${shown} and ${words(formatNumber(left))} ${words(what)}` : shown;
}

/** Parses the values in a comma-separated list, which may end in `…`. */
export function valuesOf(listed: string): Phrase {
  const [, names = "", more = ""] = /^(.*?)((?:,)? …)?$/s.exec(listed) ?? [];
  return joined([joined(names.split(", ").map(value)), words(more)], "");
}

export const markdown = (phrase: Phrase): string => phrase.format(prose, span);
export const inTable = (phrase: Phrase): string => phrase.format(prose, cellSpan) || " ";
export const inHtml = (phrase: Phrase): string => phrase.format(html, htmlCode);
