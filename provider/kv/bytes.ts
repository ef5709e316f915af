/** Numbers and bytes in a row, written and read without an intermediate form. */

const LEAST_BYTES = 4096;

export class ByteWriter {
  #bytes: Buffer = Buffer.allocUnsafe(LEAST_BYTES);
  #length = 0;

  /** A whole number from 0 to 2^53 - 1, seven bits a byte, the lowest first. */
  number(n: number): void {
    this.#reserve(8);
    while (n >= 0x80) {
      this.#bytes[this.#length] = (n % 0x80) | 0x80;
      this.#length += 1;
      n = Math.floor(n / 0x80);
    }
    this.#bytes[this.#length] = n;
    this.#length += 1;
  }

  /** A whole number from 0, or NaN for none. */
  optional(n: number): void {
    this.number(Number.isNaN(n) ? 0 : n + 1);
  }

  /** A whole number of either sign, or NaN for none. */
  optionalSigned(n: number): void {
    this.optional(n < 0 ? -2 * n - 1 : 2 * n);
  }

  bytes(bytes: Buffer): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  done(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#length + more, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** @throws RangeError beyond the end. */
export class ByteReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, start: number, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  number(): number {
    let n = 0;
    let scale = 1;
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined || this.#at >= this.#end) throw new RangeError("there are no more bytes");
      this.#at += 1;
      n += (byte & 0x7f) * scale;
      if (byte < 0x80) return n;
      scale *= 0x80;
    }
  }

  optional(): number {
    const n = this.number();
    return n === 0 ? NaN : n - 1;
  }

  optionalSigned(): number {
    const n = this.optional();
    return n % 2 === 1 ? -(n + 1) / 2 : n / 2;
  }

  bytes(length: number): Buffer {
    if (this.#at + length > this.#end) throw new RangeError("there are no more bytes");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
