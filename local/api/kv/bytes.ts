/**
 * Text in which each character stands for one byte. V8 keeps such a string at one byte a character and compares it
 * byte by byte: a million short keys and values cost little, and sort as their UTF-8 does. ASCII text is its own bytes.
 */
export type Bytes = string & { readonly isBytes: true };

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
