/** A stretch of a sentence that is not ours: a name, a value of the plan. It is shown as code, where nothing in it is markup. */
interface Value {
  readonly value: string;
  /** Stands for itself in a text, too, without quotes. */
  readonly bare?: true;
}

/** One line of a report: our words, and values between them. */
export class Phrase {
  constructor(readonly parts: readonly (string | Value)[]) {}

  toString(): string {
    const [first, ...others] = this.parts;
    if (first === undefined) return "";
    // Within a sentence it has to be seen where a value ends.
    const quoted = ({ value, bare }: Value): string =>
      bare !== true && /\s/.test(value) ? JSON.stringify(value) : value;
    if (others.length === 0) return typeof first === "string" ? first : first.value;
    return this.parts.map((part) => (typeof part === "string" ? part : quoted(part))).join("");
  }

  toJSON(): string {
    return this.toString();
  }
}

/** A sentence: a text between the words is a value, a number and another phrase are words. */
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

/** What names itself: a resource, a command. */
export const name = (text: string): Phrase => new Phrase([{ value: text, bare: true }]);

export function joined(phrases: readonly Phrase[], between = ", "): Phrase {
  return new Phrase(phrases.flatMap(({ parts }, index) => (index === 0 ? parts : [between, ...parts])));
}

/** Values one after the other, as a list in a text has them: `a, b …`. */
export function valuesOf(listed: string): Phrase {
  const [, names = "", more = ""] = /^(.*?)((?:,)? …)?$/s.exec(listed) ?? [];
  return joined([joined(names.split(", ").map(value)), words(more)], "");
}
