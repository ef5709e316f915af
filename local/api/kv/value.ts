import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";

/**
 * Text in which each character stands for one byte. V8 keeps such a string at one byte a character and compares it
 * byte by byte: a million short keys and values cost little, and sort as their UTF-8 does. ASCII text is its own bytes.
 */
export type Bytes = string & { readonly isBytes: true };

/** "digests" keeps only what tells one value from another: for measuring a client that writes a gigabyte. */
export type ValueStore = "memory" | "digests";

/** What is left of a value where only digests are kept. */
export class Digest {
  constructor(
    readonly sha256: Bytes,
    readonly length: number,
  ) {}
}

/** A buffer costs about a hundred bytes of its own, and lies outside the heap: worth it for long values. */
export type Value = Bytes | Buffer | Digest;

const LONG_FROM = 4096;

/** What is kept of `content`: text, or bytes that the caller may go on to change. */
export function keep(content: string | Buffer, store: ValueStore): Value {
  if (store === "digests") {
    const sha256 = createHash("sha256").update(content).digest();
    return new Digest(bytesIn(sha256), Buffer.byteLength(content));
  }
  const long = content.length >= LONG_FROM;
  if (typeof content === "string") return long ? Buffer.from(content) : bytesOf(content);
  return long ? Buffer.from(content) : bytesIn(content);
}

/** The bytes of a value; undefined where only a digest was kept. */
export function contentOf(value: Value): Buffer | undefined {
  if (value instanceof Digest) return undefined;
  return typeof value === "string" ? bufferOf(value) : value;
}

/** The value as text; undefined where it is none. */
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
