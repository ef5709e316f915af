import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";
import type { Recorded } from "./entry";
import { ByteReader, ByteWriter } from "./bytes";

const compress = promisify(brotliCompress);
const decompress = promisify(brotliDecompress);

/** The manifest in the state cannot be read. */
export class ManifestError extends Error {
  override readonly name = "ManifestError";
}

/** First byte of the encoded form. */
const VERSION = 1;
const DIGEST_BYTES = 16;
/** Of the SHA-256 at the end of the encoded form: finds what was cut off or altered. */
const CHECKSUM_BYTES = 8;
/** Smallest capacity, in rows. */
const LEAST_ROWS = 64;
/** Of 0 to 11. Above 5 the time grows much faster than the text shrinks: the digests are most of it. */
const BROTLI_QUALITY = 5;

/**
 * What was written, by key: a map whose rows lie in typed arrays and not in objects, so that a million keys take about
 * 100 MB. Keys are compared as UTF-8.
 *
 * Encoded, it is one line of text: base64 of a version byte, the columns in Brotli, and a checksum. Keys are sorted and
 * each says how many bytes it shares with the one before; equal content gives equal text. About 16 bytes of the value's
 * digest and 2 to 6 of the rest per key, times 4/3 for base64.
 */
export class Manifest {
  // Rows. Those that were deleted stay until the next encoding.
  #rows = 0;
  #live = 0;
  #keys: Buffer = Buffer.alloc(0);
  #keyBytes = 0;
  /** Row i has the bytes from #ends[i - 1] to #ends[i] of #keys. */
  #ends = new Uint32Array(0);
  #hashes = new Uint32Array(0);
  #values: Buffer = Buffer.alloc(0);
  /** Number of the metadata digest, counted from 1; 0 for none. */
  #metadata = new Uint32Array(0);
  /** NaN for none. */
  #expirations = new Float64Array(0);
  #ttls = new Float64Array(0);
  #deleted = new Uint8Array(0);
  // Metadata is often the same for many keys.
  readonly #metadataDigests: string[] = [];
  readonly #metadataNumbers = new Map<string, number>();
  /** Open addressing: row + 1, or 0 for a free slot. A power of two, at most half full. */
  #slots = new Uint32Array(LEAST_ROWS * 2);
  #scratch = Buffer.alloc(2048);

  get size(): number {
    return this.#live;
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined;
  }

  get(key: string): Recorded | undefined {
    const row = this.#find(key);
    return row === undefined ? undefined : this.#record(row);
  }

  set(key: string, record: Recorded): this {
    const row = this.#find(key) ?? this.#append(key);
    this.#values.write(record.value, row * DIGEST_BYTES, DIGEST_BYTES, "hex");
    this.#metadata[row] = record.metadata === undefined ? 0 : this.#metadataNumber(record.metadata);
    this.#expirations[row] = record.expiration ?? NaN;
    this.#ttls[row] = record.ttl ?? NaN;
    return this;
  }

  delete(key: string): boolean {
    const row = this.#find(key);
    if (row === undefined) return false;
    this.#deleted[row] = 1; // Its slot stays taken: what was pushed on by it is still found.
    this.#live -= 1;
    return true;
  }

  *keys(): Generator<string> {
    for (let row = 0; row < this.#rows; row += 1) if (this.#deleted[row] === 0) yield this.#key(row);
  }

  *[Symbol.iterator](): Generator<[key: string, record: Recorded]> {
    for (let row = 0; row < this.#rows; row += 1) {
      if (this.#deleted[row] === 0) yield [this.#key(row), this.#record(row)];
    }
  }

  /** Looks keys up and remembers which ones it was asked for. Keys set later on are not among those unseen. */
  track(): { see(key: string): Recorded | undefined; unseen(): Generator<string> } {
    const rows = this.#rows;
    const seen = new Uint8Array(rows);
    const unseen = function* (this: Manifest): Generator<string> {
      for (let row = 0; row < rows; row += 1) {
        if (seen[row] === 0 && this.#deleted[row] === 0) yield this.#key(row);
      }
    };
    return {
      see: (key) => {
        const row = this.#find(key);
        if (row === undefined) return undefined;
        if (row < rows) seen[row] = 1;
        return this.#record(row);
      },
      unseen: unseen.bind(this),
    };
  }

  async encode(): Promise<string> {
    const order = this.#sorted();
    const head = new ByteWriter();
    const keys = new ByteWriter();
    const times = new ByteWriter();
    const values = Buffer.alloc(order.length * DIGEST_BYTES);
    const pool = new Map<number, number>();

    // 1. Keys and times in columns of their own: alike beside alike compresses best.
    let last = -1;
    let lastExpiration = 0;
    order.forEach((row, i) => {
      const [start, end] = this.#span(row);
      const shared = last === -1 ? 0 : this.#sharedBytes(last, row);
      head.number(shared);
      head.number(end - start - shared);
      keys.bytes(this.#keys.subarray(start + shared, end));
      this.#values.copy(values, i * DIGEST_BYTES, row * DIGEST_BYTES, (row + 1) * DIGEST_BYTES);
      last = row;
    });
    for (const row of order) {
      const number = this.#metadata[row] ?? 0;
      if (number !== 0 && !pool.has(number)) pool.set(number, pool.size + 1);
      times.number(pool.get(number) ?? 0);
    }
    for (const row of order) times.optional(this.#ttls[row] ?? NaN);
    for (const row of order) {
      const expiration = this.#expirations[row] ?? NaN;
      times.optionalSigned(expiration - lastExpiration);
      if (!Number.isNaN(expiration)) lastExpiration = expiration;
    }
    const metadata = Buffer.from(
      [...pool.keys()].map((number) => this.#metadataDigests[number - 1] ?? "").join(""),
      "hex",
    );

    // 2. Digests are noise, which no compression makes smaller: they stay outside.
    const columns = [head.done(), keys.done(), times.done()];
    const packed = await compress(Buffer.concat(columns), {
      params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [constants.BROTLI_PARAM_LGWIN]: 22 },
    });
    const lengths = new ByteWriter();
    for (const length of [order.length, pool.size, packed.length, ...columns.map((c) => c.length)]) {
      lengths.number(length);
    }
    const body = Buffer.concat([Buffer.of(VERSION), lengths.done(), packed, metadata, values]);
    return Buffer.concat([body, checksum(body)]).toString("base64");
  }

  /** @throws ManifestError for text that was cut off, altered, or written by a later version. */
  static async decode(text: string): Promise<Manifest> {
    const whole = Buffer.from(text, "base64");
    const body = whole.subarray(0, -CHECKSUM_BYTES);
    const complete = Math.ceil(whole.length / 3) * 4 === text.length; // Node stops reading base64 at its padding.
    if (!complete || !checksum(body).equals(whole.subarray(-CHECKSUM_BYTES))) {
      throw new ManifestError(
        'The manifest in the state is damaged: its checksum does not match, so it was cut off or altered. Restore the state from a backup, or remove this KvEntries from the state (`pulumi state delete`) and declare it with adopt: "takeOver".',
      );
    }
    if (body[0] !== VERSION) {
      throw new ManifestError(
        `The manifest in the state has format ${body[0] ?? 0}; this version of pulumi-edgeguard reads format ${VERSION}. Install the version that wrote it, or a later one.`,
      );
    }
    const manifest = new Manifest();
    await manifest.#fill(body);
    return manifest;
  }

  async #fill(body: Buffer): Promise<void> {
    const reader = new ByteReader(body, 1);
    const [rows, pool, packedBytes] = [reader.number(), reader.number(), reader.number()];
    const [headBytes, keyBytes, timeBytes] = [reader.number(), reader.number(), reader.number()];
    const columns = await decompress(reader.bytes(packedBytes));
    for (let i = 0; i < pool; i += 1) this.#metadataNumber(reader.bytes(DIGEST_BYTES).toString("hex"));
    const head = new ByteReader(columns, 0);
    const suffixes = new ByteReader(columns, headBytes);
    const times = new ByteReader(columns, headBytes + keyBytes, headBytes + keyBytes + timeBytes);

    this.#reserve(rows);
    this.#values.set(reader.bytes(rows * DIGEST_BYTES));
    for (let row = 0; row < rows; row += 1) {
      const [shared, own] = [head.number(), head.number()];
      const before = row === 0 ? 0 : this.#span(row - 1)[0];
      this.#reserveKeyBytes(shared + own);
      this.#keys.copyWithin(this.#keyBytes, before, before + shared);
      this.#keys.set(suffixes.bytes(own), this.#keyBytes + shared);
      this.#push(shared + own);
    }
    for (let row = 0; row < rows; row += 1) this.#metadata[row] = times.number();
    for (let row = 0; row < rows; row += 1) this.#ttls[row] = times.optional();
    let lastExpiration = 0;
    for (let row = 0; row < rows; row += 1) {
      const expiration = times.optionalSigned() + lastExpiration;
      this.#expirations[row] = expiration;
      if (!Number.isNaN(expiration)) lastExpiration = expiration;
    }
  }

  #key(row: number): string {
    return this.#keys.toString("utf8", ...this.#span(row));
  }

  #record(row: number): Recorded {
    const metadata = this.#metadata[row] ?? 0;
    const expiration = this.#expirations[row] ?? NaN;
    const ttl = this.#ttls[row] ?? NaN;
    return {
      value: this.#values.toString("hex", row * DIGEST_BYTES, (row + 1) * DIGEST_BYTES),
      ...(metadata === 0 ? {} : { metadata: this.#metadataDigests[metadata - 1] ?? "" }),
      ...(Number.isNaN(expiration) ? {} : { expiration }),
      ...(Number.isNaN(ttl) ? {} : { ttl }),
    };
  }

  #span(row: number): [start: number, end: number] {
    return [row === 0 ? 0 : (this.#ends[row - 1] ?? 0), this.#ends[row] ?? 0];
  }

  #metadataNumber(digest: string): number {
    const known = this.#metadataNumbers.get(digest);
    if (known !== undefined) return known;
    const number = this.#metadataDigests.push(digest);
    this.#metadataNumbers.set(digest, number);
    return number;
  }

  /** Rows that live, by the bytes of their keys. */
  #sorted(): number[] {
    const keys = this.#keys;
    const order: number[] = [];
    for (let row = 0; row < this.#rows; row += 1) if (this.#deleted[row] === 0) order.push(row);
    // An array and not a typed one: its sort takes runs that are in order already as they are, which most are.
    return order.sort((a, b) => {
      const [startA, endA] = this.#span(a);
      const [startB, endB] = this.#span(b);
      const shared = this.#sharedBytes(a, b);
      if (startA + shared === endA || startB + shared === endB) return endA - startA - (endB - startB);
      return (keys[startA + shared] ?? 0) - (keys[startB + shared] ?? 0);
    });
  }

  #sharedBytes(a: number, b: number): number {
    const keys = this.#keys;
    const [startA, endA] = this.#span(a);
    const [startB, endB] = this.#span(b);
    const most = Math.min(endA - startA, endB - startB);
    let shared = 0;
    while (shared < most && keys[startA + shared] === keys[startB + shared]) shared += 1;
    return shared;
  }

  #find(key: string): number | undefined {
    const length = this.#toScratch(key);
    const hash = hashOf(this.#scratch, 0, length);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const row = (this.#slots[slot] ?? 0) - 1;
      if (row === -1) return undefined;
      if (this.#hashes[row] === hash && this.#deleted[row] === 0 && this.#equalsScratch(row, length))
        return row;
    }
  }

  #toScratch(key: string): number {
    if (key.length * 3 > this.#scratch.length) this.#scratch = Buffer.alloc(key.length * 3);
    return this.#scratch.write(key);
  }

  #equalsScratch(row: number, length: number): boolean {
    const [start, end] = this.#span(row);
    return end - start === length && this.#scratch.compare(this.#keys, start, end, 0, length) === 0;
  }

  /** A row for a key that has none. */
  #append(key: string): number {
    const length = this.#toScratch(key);
    if (this.#rows === this.#ends.length) this.#reserve(Math.max(LEAST_ROWS, this.#rows * 2));
    this.#reserveKeyBytes(length);
    this.#scratch.copy(this.#keys, this.#keyBytes, 0, length);
    return this.#push(length);
  }

  /** Takes the next row for a key whose bytes are in place. */
  #push(length: number): number {
    const row = this.#rows;
    const start = this.#keyBytes;
    this.#rows += 1;
    this.#live += 1;
    this.#keyBytes += length;
    this.#ends[row] = this.#keyBytes;
    const hash = hashOf(this.#keys, start, start + length);
    this.#hashes[row] = hash;
    this.#toSlot(row, hash);
    return row;
  }

  #toSlot(row: number, hash: number): void {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = row + 1;
  }

  /** Makes room for so many rows. */
  #reserve(rows: number): void {
    if (rows <= this.#ends.length) return;
    const grown = <T extends { set(from: T): void }>(to: T, from: T): T => (to.set(from), to);
    this.#ends = grown(new Uint32Array(rows), this.#ends);
    this.#hashes = grown(new Uint32Array(rows), this.#hashes);
    this.#values = grown(Buffer.alloc(rows * DIGEST_BYTES), this.#values);
    this.#metadata = grown(new Uint32Array(rows), this.#metadata);
    this.#expirations = grown(new Float64Array(rows).fill(NaN), this.#expirations);
    this.#ttls = grown(new Float64Array(rows).fill(NaN), this.#ttls);
    this.#deleted = grown(new Uint8Array(rows), this.#deleted);
    let slots = this.#slots.length;
    while (slots < rows * 2) slots *= 2;
    if (slots === this.#slots.length) return;
    this.#slots = new Uint32Array(slots);
    for (let row = 0; row < this.#rows; row += 1) this.#toSlot(row, this.#hashes[row] ?? 0);
  }

  #reserveKeyBytes(more: number): void {
    if (this.#keyBytes + more <= this.#keys.length) return;
    const grown = Buffer.alloc(Math.max(this.#keyBytes + more, Math.ceil(this.#keys.length * 1.5), 4096));
    this.#keys.copy(grown, 0, 0, this.#keyBytes);
    this.#keys = grown;
  }
}

function checksum(body: Buffer): Buffer {
  return createHash("sha256").update(body).digest().subarray(0, CHECKSUM_BYTES);
}

/** FNV-1a with a last stir, so that names which count upwards spread over the table. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i += 1) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
