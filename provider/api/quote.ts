import { escapeInvisible, trimEnd } from "./printable";
import { EVERYDAY_WORD, Redactor, stringsIn } from "./redact";

/** Decides what may be shown of a response: some of Cloudflare's words, and nothing of a body that isn't the API's. */

const MOST_SHOWN_CHARACTERS = 300;
const MOST_READ_CHARACTERS = 10_000;

/** JSON, markup, or a URL with more than a path: data, not a sentence. */
const DATA = /[{[]\s*["{[]|"\s*:|<[/!a-z]|:\/\/\S*[@?]/i;

/** Quoted text that's more than the name of a field. */
const QUOTED = /(["`])(?!(?:[\w.]+|\[secret\]|\[hidden\])\1)(.+?)\1/g;

const BETWEEN_WORDS = /([\s"'`()<>[\]{},;]+)/;

const NOT_SHOWN = "Cloudflare's message isn't shown, because it may quote a secret";

/** Returns Cloudflare's words about the object itself as one line, unless they may quote a part of a secret. */
export function quoteOwn(text: string, secrets: readonly Redactor[]): string {
  const redacted = withoutSecrets(text, secrets);
  return redacted === undefined ? NOT_SHOWN : asLine(redacted);
}

/** Undefined if the text may quote a part of a secret. */
function withoutSecrets(text: string, secrets: readonly Redactor[], shown = ""): string | undefined {
  if (text.length > MOST_READ_CHARACTERS) return undefined;
  const redacted = secrets.reduce((rest, redactor) => redactor.redact(rest), text.trim());
  return secrets.some((redactor) => redactor.quotes(redacted, shown)) ? undefined : redacted;
}

function asLine(text: string): string {
  const isLong = text.length > MOST_SHOWN_CHARACTERS;
  return escapeInvisible(isLong ? `${text.slice(0, MOST_SHOWN_CHARACTERS)}…` : text);
}

/** What Cloudflare's words may repeat. */
export interface Repeatable {
  /** Secrets. A text that may quote a part of one isn't shown. */
  readonly secrets: readonly Redactor[];
  /** What was sent and read, in which values are hidden. A Buffer holds entries, whose values count as secrets. */
  readonly values?: readonly unknown[];
  readonly seen?: Seen | undefined;
  /** Returns text that's shown anyway: the request, and the program's arguments. */
  readonly shown?: () => string;
}

/** Values that aren't known to be secret. */
interface Values {
  /** All of them, hidden as wholes. */
  readonly whole: Redactor;
  /** Those of which a text may not quote a part either. */
  readonly telling: Redactor;
}

interface Known {
  readonly secrets: readonly Redactor[];
  readonly values: Values;
  readonly shown: string;
}

/** Quotes Cloudflare's words. */
export class Quotes {
  readonly #given: Repeatable;
  #known: Known | undefined;

  constructor(given: Repeatable) {
    this.#given = given;
  }

  /** Returns the words as one line. Says instead that they aren't shown if they may quote a secret or other data. */
  quote(text: string): string {
    return text === "" ? "" : (this.#quotable(text) ?? NOT_SHOWN);
  }

  /** Describes a body that isn't the API's. An HTML page is named by its title. */
  describe(text: string, contentType = "no content type"): string {
    if (text === "") return "empty";
    const [, title = ""] = /<title>([^<]{1,200})<\/title>/i.exec(text.slice(0, MOST_READ_CHARACTERS)) ?? [];
    const name = title === "" ? undefined : this.#quotable(title.replace(/\s+/g, " "));
    const size = Buffer.byteLength(text);
    const named = name === undefined ? "" : `, titled ${JSON.stringify(name.slice(0, 80))}`;
    return `${escapeInvisible(contentType.slice(0, 80))}, ${size} byte${size === 1 ? "" : "s"}${named}`;
  }

  #quotable(text: string): string | undefined {
    if (this.#given.seen?.isComplete === false) return undefined;
    const { secrets, values, shown } = (this.#known ??= this.#read());
    const known = withoutSecrets(text, secrets, shown);
    const redacted = known === undefined ? undefined : values.whole.redact(known);
    if (redacted === undefined || DATA.test(redacted) || values.telling.quotes(redacted, shown))
      return undefined;
    const words = redacted.split(BETWEEN_WORDS);
    const line = words
      .map((word, at) => (at % 2 === 0 && isValue(word, shown) ? "[hidden]" : word))
      .join("")
      .replace(QUOTED, (all, mark: string, value: string) =>
        shown.includes(value) ? all : `${mark}[hidden]${mark}`,
      );
    return trimEnd(asLine(line), ". ");
  }

  #read(): Known {
    const { secrets, values = [], seen, shown = () => "" } = this.#given;
    const text = secrets.reduce((rest, redactor) => redactor.redact(rest), shown());
    const entries = new Redactor();
    const others = new Seen(seen);
    for (const value of values) {
      if (Buffer.isBuffer(value)) entries.addValue(parsed(value.toString()));
      else others.add(value);
    }
    return { secrets: [...secrets, entries], values: others.hidden(text), shown: text };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Words that Cloudflare has cut short. */
const SHORTENED = /(\.\.|…)$/;

/** Cloudflare's name of a phase, such as `http_response_page_shield`. */
const PHASE = /^http_(?:request|response)_[a-z_]+$/;

/** Whether a word is more likely a key, an ID or other data than a word of a sentence, and isn't shown anyway. */
function isValue(given: string, shown: string): boolean {
  const word = trimEnd(given, ".:!?…");
  return (
    ((word.length > 24 && !PHASE.test(word)) ||
      (word.length >= 8 && /[\d@=%&]/.test(word)) ||
      SHORTENED.test(given)) &&
    !shown.includes(word)
  );
}

/** Names such as "Cloudflare Managed Ruleset" and `http_request_firewall_managed`, whose words are in any message. */
const VOCABULARY = /^[a-z_. ]*$/i;

const MOST_TEXTS = 20_000;
const MOST_SEEN_CHARACTERS = 4_000_000;

/** The values that a call has read. An error may repeat any of them. */
export class Seen {
  readonly #texts: Set<string>;
  #characters = 0;

  constructor(earlier: Iterable<string> = []) {
    this.#texts = new Set(earlier);
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#texts.values();
  }

  /** Whether it remembers every value. */
  get isComplete(): boolean {
    return this.#texts.size <= MOST_TEXTS && this.#characters <= MOST_SEEN_CHARACTERS;
  }

  add(value: unknown): void {
    for (const text of stringsIn(value)) {
      if (!this.isComplete) return;
      if (this.#texts.has(text)) continue;
      this.#texts.add(text);
      this.#characters += text.length;
    }
  }

  /** Returns the values that aren't shown anyway. */
  hidden(shown: string): Values {
    const [whole, telling] = [new Redactor(), new Redactor()];
    for (const text of this.#texts) {
      if (EVERYDAY_WORD.test(text) || shown.includes(text)) continue;
      whole.addValue(text);
      if (!VOCABULARY.test(text)) telling.addValue(text);
    }
    return { whole, telling };
  }
}
