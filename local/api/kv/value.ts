import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { bufferOf, type Bytes, bytesIn, bytesOf } from "./bytes";

/** "digests" keeps only what tells one value from another: for measuring a client that writes a gigabyte. */
export const valueStores = ["memory", "digests"] as const;
export type ValueStore = (typeof valueStores)[number];

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
