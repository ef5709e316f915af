import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";

/**
 * Text with one character per byte. V8 uses one byte per character for such strings and compares them byte by byte. A
 * million short keys and values thus take little memory and sort like their UTF-8. ASCII text stays the same.
 */
export type Bytes = string & { readonly isBytes: true };

/** How values are stored. "digests" stores only a digest of each value, so that tests can write gigabytes. */
export type ValueStore = "memory" | "digests";

/** A value for which only the digest is stored. */
export class Digest {
  constructor(
    readonly sha256: Bytes,
    readonly length: number,
  ) {}
}

/**
 * A stored value. Long values are buffers, which are stored outside the heap but have an overhead of about a hundred
 * bytes.
 */
export type Value = Bytes | Buffer | Digest;

const LONG_FROM = 4096;

/** Converts `content` to its stored form. Copies bytes, because the caller may change them. */
export function storedValue(content: string | Buffer, store: ValueStore): Value {
  if (store === "digests") {
    const sha256 = createHash("sha256").update(content).digest();
    return new Digest(bytesIn(sha256), Buffer.byteLength(content));
  }
  const long = content.length >= LONG_FROM;
  if (typeof content === "string") return long ? Buffer.from(content) : bytesOf(content);
  return long ? Buffer.from(content) : bytesIn(content);
}

/** Returns a value's bytes. Undefined if only its digest was stored. */
export function contentOf(value: Value): Buffer | undefined {
  if (value instanceof Digest) return undefined;
  return typeof value === "string" ? bufferOf(value) : value;
}

/** Returns the value as text. Undefined if it isn't UTF-8. */
export function readableText(content: Buffer): string | undefined {
  return isUtf8(content) ? content.toString() : undefined;
}

/** Converts `text` to UTF-8. */
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
