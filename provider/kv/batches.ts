import type { Entry } from "./entry";

/** The content of one request. */
export interface Batch<T> {
  readonly items: readonly T[];
  /** The exact size of the request's body. */
  readonly bytes: number;
}

export interface BatchLimits<T> {
  readonly items: number;
  /** The size limit for a body. A single item may exceed it. */
  readonly bytes: number;
  /** The size of one item's JSON. */
  readonly bytesOf: (item: T) => number;
}

/** Splits items into batches, one per request. Keeps only one batch in memory. */
export function* batches<T>(
  items: Iterable<T>,
  limits: BatchLimits<T>,
): Generator<Batch<T>, void, undefined> {
  let batch: T[] = [];
  let bytes = BRACKETS;
  for (const item of items) {
    const more = limits.bytesOf(item);
    if (batch.length > 0 && (batch.length >= limits.items || bytes + COMMA + more > limits.bytes)) {
      yield { items: batch, bytes };
      batch = [];
      bytes = BRACKETS;
    }
    bytes += batch.length === 0 ? more : COMMA + more;
    batch.push(item);
  }
  if (batch.length > 0) yield { items: batch, bytes };
}

const BRACKETS = 2;
const COMMA = 1;

/** Converts an entry to the format of the API's bulk write. JSON omits undefined properties. */
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

/** Returns the size of the entry's JSON in a bulk write. */
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
 * Whether text takes fewer bytes as base64. JSON escapes a control character as six bytes, so a value full of them
 * would exceed the request size limit.
 */
function isShorterAsBase64(text: string): boolean {
  return NEEDS_ESCAPING.test(text) && bytesAsBase64(Buffer.byteLength(text)) < textBytes(text);
}

/** Returns the size of a value as base64, including the `base64` property. */
function bytesAsBase64(bytes: number): number {
  return Math.ceil(bytes / 3) * 4 + EMPTY.length + FLAG.length;
}

/** Returns the size of the text as JSON. Values can be long, so most are measured without copying them. */
export function textBytes(text: string): number {
  return NEEDS_ESCAPING.test(text) ? Buffer.byteLength(JSON.stringify(text)) : text.length + EMPTY.length;
}

/** Any character that JSON escapes or that takes several bytes in UTF-8. */
const NEEDS_ESCAPING = /[^ !#-[\]-~]/;

/**
 * The body of a bulk write, built in a single buffer: megabytes of strings would stay in memory until the next full
 * garbage collection.
 */
export class Body {
  readonly #bytes: Buffer;
  #at: number;

  /** @param sizes the size of each entry's JSON. */
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

  /** Adds an entry's JSON. */
  addText(text: Buffer): void {
    this.#separate();
    this.#at += text.copy(this.#bytes, this.#at);
  }

  #separate(): void {
    if (this.#at > 1) this.#at += this.#bytes.write(",", this.#at);
  }

  /** @throws RangeError if the sizes were wrong, because uninitialized bytes must never be sent. */
  done(): Buffer {
    const written = this.#at + this.#bytes.write("]", this.#at);
    if (written !== this.#bytes.length)
      throw new RangeError(`expected a body of ${this.#bytes.length} bytes but wrote ${written}`);
    return this.#bytes;
  }
}
