import { parseJson } from "../basics/json";
import { escapeInvisible, trimEnd } from "../basics/printable";
import { pluralize, truncate } from "../basics/words";
import { EVERYDAY_WORD, Redactor, stringsIn } from "./redact";

/** Decides what may be shown of a response: some of Cloudflare's words, and nothing of a body that isn't the API's. */

const MOST_SHOWN_CHARACTERS = 300;
const MOST_READ_CHARACTERS = 10_000;

/** JSON, markup, or a URL with more than a path: data, not a sentence. */
const DATA = /[{[]\s*["{[]|"\s*:|<[/!a-z]|:\/\/\S*[@?]/i;

/** Text that Cloudflare has cut short. What's left of a secret isn't recognized. */
const CUT = /\.\.|…/;

/** Quoted text that's more than the name of a field. */
const QUOTED = /(["`])(?!(?:[\w.]+|\[secret\]|\[hidden\])\1)(.+?)\1/g;

const NOT_SHOWN = "Cloudflare's message isn't shown, because it may quote a secret";

/** Returns Cloudflare's words about the object itself as one line. */
export function quoteOwn(text: string, secrets: readonly Redactor[]): string {
  if (text.length > MOST_READ_CHARACTERS) return NOT_SHOWN;
  const redacted = redactAll(text.trim(), secrets);
  return CUT.test(redacted) ? NOT_SHOWN : asLine(redacted);
}

function redactAll(text: string, redactors: readonly Redactor[]): string {
  return redactors.reduce((rest, redactor) => redactor.redact(rest), text);
}

function asLine(text: string): string {
  return escapeInvisible(truncate(text, MOST_SHOWN_CHARACTERS));
}

/** What Cloudflare's words may repeat. */
export interface Repeatable {
  readonly secrets: readonly Redactor[];
  /** What was sent and read, in which values are hidden. A Buffer holds entries, whose values are hidden as well. */
  readonly values?: readonly unknown[];
  readonly seen?: Seen | undefined;
  /** Returns text that's shown anyway: the request, and the program's arguments. */
  readonly shown?: () => string;
}

/** Quotes Cloudflare's words. */
export class Quotes {
  readonly #given: Repeatable;
  #known: { readonly redactors: readonly Redactor[]; readonly shown: string } | undefined;

  constructor(given: Repeatable) {
    this.#given = given;
  }

  /** Returns the words as one line. Says instead that they aren't shown if they're data or were cut short. */
  quote(text: string): string {
    return text === "" ? "" : (this.#quotable(text) ?? NOT_SHOWN);
  }

  /** Describes a body that isn't the API's. An HTML page is named by its title. */
  describe(text: string, contentType = "no content type"): string {
    if (text === "") return "empty";
    const [, title = ""] = /<title>([^<]{1,200})<\/title>/i.exec(text.slice(0, MOST_READ_CHARACTERS)) ?? [];
    const name = title === "" ? undefined : this.#quotable(title.replace(/\s+/g, " "));
    const size = pluralize(Buffer.byteLength(text), "byte");
    const named = name === undefined ? "" : `, titled ${JSON.stringify(name.slice(0, 80))}`;
    return `${escapeInvisible(contentType.slice(0, 80))}, ${size}${named}`;
  }

  #quotable(text: string): string | undefined {
    if (this.#given.seen?.isComplete === false || text.length > MOST_READ_CHARACTERS) return undefined;
    const { redactors, shown } = (this.#known ??= this.#read());
    const redacted = redactAll(text.trim(), redactors);
    if (DATA.test(redacted) || CUT.test(redacted)) return undefined;
    const line = redacted
      .replace(URL_TEXT, (url) => (shown.includes(trimEnd(url, ".,;:)")) ? url : "[hidden]"))
      .split(BETWEEN_WORDS)
      .map((word) => withoutValue(word, shown))
      .join("")
      .replace(QUOTED, (all, mark: string, value: string) =>
        shown.includes(value) ? all : `${mark}[hidden]${mark}`,
      );
    return trimEnd(asLine(line), ". ");
  }

  #read(): { readonly redactors: readonly Redactor[]; readonly shown: string } {
    const { secrets, values = [], seen, shown: shownAnyway = () => "" } = this.#given;
    const shown = redactAll(shownAnyway(), secrets);
    const hidden = new Redactor();
    const others = new Seen(seen);
    for (const value of values) {
      if (Buffer.isBuffer(value)) hidden.addValue(parseJson(value.toString()) ?? value.toString());
      else others.add(value);
    }
    for (const text of others) if (!EVERYDAY_WORD.test(text) && !shown.includes(text)) hidden.addValue(text);
    return { redactors: [...secrets, hidden], shown };
  }
}

/** Cloudflare's name of a phase, such as `http_response_page_shield`. */
const PHASE = /^http_(?:request|response)_[a-z_]+$/;

/** A URL, whose path or user may be a secret. */
const URL_TEXT = /\b[a-z][a-z\d+.-]{0,20}:\/\/\S*/gi;

const BETWEEN_WORDS = /([\s()<>[\]{},;]+)/;

/** A word without the punctuation around it. */
const WORD = /[^"'`.:!?](?:.*[^"'`.:!?])?/s;

/** Hides a word that's more likely a key, an ID or other data than a word of a sentence, and isn't shown anyway. */
function withoutValue(text: string, shown: string): string {
  return text.replace(WORD, (word) => {
    const isValue = (word.length > 24 && !PHASE.test(word)) || (word.length >= 8 && /[\d@=%&]/.test(word));
    return isValue && !shown.includes(word) ? "[hidden]" : word;
  });
}

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
}
