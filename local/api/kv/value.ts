import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";

/**
 * Text with one character per byte. V8 stores such strings with one byte per character and compares them byte by byte, so a
 * million short keys and values take little memory and sort like their UTF-8. ASCII text stays the same.
 */
export type Bytes = string & { readonly isBytes: true };

/** "digests" stores only digests of values, to measure a client that writes a gigabyte. */
export type ValueStore = "memory" | "digests";

/** A value of which only the digest is stored. */
export class Digest {
  constructor(
    readonly sha256: Bytes,
    readonly length: number,
  ) {}
}

/** A buffer has an overhead of about a hundred bytes but is outside the heap, which pays off for long values. */
export type Value = Bytes | Buffer | Digest;

const LONG_FROM = 4096;

/** The stored form of `content`. Copies bytes, because the caller may change them. */
export function storedValue(content: string | Buffer, store: ValueStore): Value {
  if (store === "digests") {
    const sha256 = createHash("sha256").update(content).digest();
    return new Digest(bytesIn(sha256), Buffer.byteLength(content));
  }
  const long = content.length >= LONG_FROM;
  if (typeof content === "string") return long ? Buffer.from(content) : bytesOf(content);
  return long ? Buffer.from(content) : bytesIn(content);
}

/** The bytes of a value; undefined if only its digest was stored. */
export function contentOf(value: Value): Buffer | undefined {
  if (value instanceof Digest) return undefined;
  return typeof value === "string" ? bufferOf(value) : value;
}

/** The value as text; undefined if it isn't UTF-8. */
export function readableText(content: Buffer): string | undefined {
  return isUtf8(content) ? content.toString() : undefined;
}

/** The UTF-8 of `text`. */
export function bytesOf(text: string): Bytes {
  return (/[\u0080-\uffff]/.test(text) ? Buffer.from(text).toString("latin1") : text) as Bytes;
}

export function bytesIn(buffer: Buffer): Bytes {
  return buffer.toString("latin1") as Bytes;
}

export function bufferOf(bytes: Bytes): Buffer {
  return Buffer.from(bytes, "latin1");
}

export function textOf(bytes: Bytes): string {
  return /[\u0080-\u00ff]/.test(bytes) ? bufferOf(bytes).toString() : bytes;
}
