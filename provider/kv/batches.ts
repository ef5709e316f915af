import type { Entry } from "./entry";

/** What one request carries. */
export interface Batch<T> {
  readonly items: readonly T[];
  /** Of the request's body, exactly. */
  readonly bytes: number;
}

export interface BatchLimits<T> {
  readonly items: number;
  /** Of the body; a single item may be larger. */
  readonly bytes: number;
  /** Bytes of one item's JSON. */
  readonly bytesOf: (item: T) => number;
}

/** Cuts items into requests. Holds one batch at a time. */
export function* batches<T>(
  items: Iterable<T>,
  limits: BatchLimits<T>,
): Generator<Batch<T>, void, undefined> {
  let held: T[] = [];
  let bytes = BRACKETS;
  for (const item of items) {
    const more = limits.bytesOf(item);
    if (held.length > 0 && (held.length >= limits.items || bytes + COMMA + more > limits.bytes)) {
      yield { items: held, bytes };
      held = [];
      bytes = BRACKETS;
    }
    bytes += held.length === 0 ? more : COMMA + more;
    held.push(item);
  }
  if (held.length > 0) yield { items: held, bytes };
}

const BRACKETS = 2;
const COMMA = 1;

/** An entry as the bulk write takes it. JSON leaves out the members that are undefined. */
export function toRequest(entry: Entry): Record<string, unknown> {
  const { key, value, base64, metadata, expiration, expirationTtl } = entry;
  const asBase64 = !base64 && isShorterAsBase64(value);
  return {
    key,
    value: asBase64 ? Buffer.from(value).toString("base64") : value,
    base64: base64 || asBase64 ? true : undefined,
    metadata,
    expiration,
    expiration_ttl: expirationTtl,
  };
}

/** Bytes of the entry's JSON in a bulk write. */
export function entryBytes(entry: Entry): number {
  const { key, value, base64, metadata, expiration, expirationTtl } = entry;
  const valueBytes = base64
    ? FLAG.length + textBytes(value)
    : Math.min(textBytes(value), bytesAsBase64(Buffer.byteLength(value)));
  if (metadata === undefined && expiration === undefined && expirationTtl === undefined)
    return PLAIN.length + textBytes(key) + valueBytes;
  const rest = JSON.stringify(toRequest({ ...entry, value: "", base64: false }));
  return Buffer.byteLength(rest) - EMPTY.length + valueBytes;
}

const EMPTY = '""';
const PLAIN = '{"key":,"value":}';
const FLAG = ',"base64":true';

/**
 * Whether a text takes fewer bytes as base64: of a control character JSON makes six. A value of them alone would be
 * larger than any request may be.
 */
export function isShorterAsBase64(text: string): boolean {
  return NOT_ITSELF_IN_JSON.test(text) && bytesAsBase64(Buffer.byteLength(text)) < textBytes(text);
}

/** Bytes of a value as base64, with the member that says so. */
function bytesAsBase64(bytes: number): number {
  return Math.ceil(bytes / 3) * 4 + EMPTY.length + FLAG.length;
}

/** Bytes of the text as JSON. Most texts are looked at only: values are long, and no copy of one is made to count it. */
export function textBytes(text: string): number {
  return NOT_ITSELF_IN_JSON.test(text) ? Buffer.byteLength(JSON.stringify(text)) : text.length + EMPTY.length;
}

/** Anything but printable ASCII without quotation mark and backslash. */
const NOT_ITSELF_IN_JSON = /[^ !#-[\]-~]/;

/** The body of a bulk write, put together in place: a text of megabytes would lie about until the next full collection. */
export class Body {
  readonly #bytes: Buffer;
  #at: number;

  /** @param sizes bytes of each entry's JSON. */
  constructor(sizes: readonly number[]) {
    this.#bytes = Buffer.allocUnsafe(
      sizes.reduce((sum, size) => sum + size, BRACKETS + (sizes.length - 1) * COMMA),
    );
    this.#at = this.#bytes.write("[");
  }

  add(entry: Entry): void {
    this.#separate();
    this.#at += this.#bytes.write(JSON.stringify(toRequest(entry)), this.#at);
  }

  /** An entry that is JSON already. */
  addText(from: Buffer, start: number, end: number): void {
    this.#separate();
    this.#at += from.copy(this.#bytes, this.#at, start, end);
  }

  /** @throws RangeError where the sizes were wrong: what was never written must not be sent. */
  done(): Buffer {
    const written = this.#at + this.#bytes.write("]", this.#at);
    if (written !== this.#bytes.length)
      throw new RangeError(`a body of ${this.#bytes.length} bytes was counted and ${written} were written`);
    return this.#bytes;
  }

  #separate(): void {
    if (this.#at > 1) this.#at += this.#bytes.write(",", this.#at);
  }
}
