import type { Entry } from "./entry";

export type Many<T> = Iterable<T> | AsyncIterable<T>;

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

/** Cuts a stream into requests. Holds one batch at a time. */
export async function* batches<T>(
  items: Many<T>,
  limits: BatchLimits<T>,
): AsyncGenerator<Batch<T>, void, undefined> {
  let held: T[] = [];
  let bytes = BRACKETS;
  for await (const item of items) {
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
  return {
    key,
    value,
    base64: base64 ? true : undefined,
    metadata,
    expiration,
    expiration_ttl: expirationTtl,
  };
}

/** Bytes of the entry's JSON in a bulk write. */
export function entryBytes(entry: Entry): number {
  const { metadata, expiration, expirationTtl } = entry;
  if (!entry.base64 && metadata === undefined && expiration === undefined && expirationTtl === undefined)
    return PLAIN.length + textBytes(entry.key) + textBytes(entry.value);
  const rest = JSON.stringify(toRequest({ ...entry, value: "" }));
  return Buffer.byteLength(rest) - EMPTY.length + textBytes(entry.value);
}

const EMPTY = '""';
const PLAIN = '{"key":,"value":}';

/** Bytes of the text as JSON. Most texts are looked at only: values are long, and no copy of one is made to count it. */
export function textBytes(text: string): number {
  return NOT_ITSELF_IN_JSON.test(text) ? Buffer.byteLength(JSON.stringify(text)) : text.length + EMPTY.length;
}

/** Anything but printable ASCII without quotation mark and backslash. */
const NOT_ITSELF_IN_JSON = /[^ !#-[\]-~]/;

/** The body of a bulk write. Made entry by entry: a text of megabytes would lie about until the next full collection. */
export function bodyOf(entries: readonly Entry[]): Buffer {
  const bytes = entries.reduce(
    (sum, entry) => sum + entryBytes(entry),
    BRACKETS + (entries.length - 1) * COMMA,
  );
  const body = Buffer.alloc(bytes);
  let end = body.write("[");
  entries.forEach((entry, index) => {
    end += body.write((index === 0 ? "" : ",") + JSON.stringify(toRequest(entry)), end);
  });
  end += body.write("]", end);
  if (end !== bytes) throw new RangeError(`a body of ${bytes} bytes was counted and ${end} were written`);
  return body;
}
