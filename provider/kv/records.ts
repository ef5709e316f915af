import type { Recorded } from "./entry";

export const DIGEST_BYTES = 16;
/** Smallest capacity, in rows. */
const LEAST_ROWS = 64;
const LEAST_KEY_BYTES = 4096;

/**
 * Keys and what is remembered of them, by number of row. The rows lie in typed arrays and not in objects, so that a
 * million keys take about 100 MB. Keys are compared as UTF-8.
 */
export class Records {
  #rows = 0;
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
  // Metadata is often the same for many keys.
  readonly #metadataDigests: string[] = [];
  readonly #metadataNumbers = new Map<string, number>();
  /** Open addressing: row + 1, or 0 for a free slot. A power of two, at most half full. */
  #slots = new Uint32Array(LEAST_ROWS * 2);
  #scratch = Buffer.alloc(2048);

  get rows(): number {
    return this.#rows;
  }

  key(row: number): string {
    return this.#keys.toString("utf8", this.#start(row), this.#end(row));
  }

  /** The row of a key, or -1. */
  find(key: string): number {
    const length = this.#toScratch(key);
    return this.#search(this.#scratch, 0, length, hashOf(this.#scratch, 0, length));
  }

  /** The row of the key that another table has in `row`, or -1. */
  findKeyOf(other: Records, row: number): number {
    return this.#search(other.#keys, other.#start(row), other.#end(row), other.#hashes[row] ?? 0);
  }

  /** A row for a key that has none; -1 where it has one. */
  add(key: string): number {
    const length = this.#toScratch(key);
    const hash = hashOf(this.#scratch, 0, length);
    if (this.#search(this.#scratch, 0, length, hash) !== -1) return -1;
    return this.#append(this.#scratch, 0, length, hash);
  }

  /** As `add`, for a key that is known to have none. */
  addKeyOf(other: Records, row: number): number {
    return this.#append(other.#keys, other.#start(row), other.#end(row), other.#hashes[row] ?? 0);
  }

  /** A row for a key whose first bytes are those of the key in the last row. */
  addAfter(shared: number, own: Buffer): number {
    const before = this.#rows === 0 ? 0 : this.#start(this.#rows - 1);
    const length = shared + own.length;
    this.#reserveScratch(length);
    this.#keys.copy(this.#scratch, 0, before, before + shared);
    own.copy(this.#scratch, shared);
    return this.#append(this.#scratch, 0, length, hashOf(this.#scratch, 0, length));
  }

  get(row: number): Recorded {
    const metadata = this.metadata(row);
    const expiration = this.expiration(row);
    const ttl = this.ttl(row);
    return {
      value: this.#values.toString("hex", row * DIGEST_BYTES, (row + 1) * DIGEST_BYTES),
      ...(metadata === 0 ? {} : { metadata: this.metadataDigest(metadata) }),
      ...(Number.isNaN(expiration) ? {} : { expiration }),
      ...(Number.isNaN(ttl) ? {} : { ttl }),
    };
  }

  set(row: number, { value, metadata, expiration, ttl }: Recorded): void {
    this.#values.write(value, row * DIGEST_BYTES, DIGEST_BYTES, "hex");
    this.#metadata[row] = metadata === undefined ? 0 : this.metadataNumber(metadata);
    this.#expirations[row] = expiration ?? NaN;
    this.#ttls[row] = ttl ?? NaN;
  }

  /** Takes over what another table remembers in `from`, but for the key. */
  copy(row: number, other: Records, from: number): void {
    other.copyValue(from, this.#values, row * DIGEST_BYTES);
    const metadata = other.metadata(from);
    this.#metadata[row] = metadata === 0 ? 0 : this.metadataNumber(other.metadataDigest(metadata));
    this.#expirations[row] = other.expiration(from);
    this.#ttls[row] = other.ttl(from);
  }

  /**
   * Whether an entry that is declared in `row` needs no write, since `written` has in `at` that it was written so: a
   * lifetime is renewed only when its own entry changes.
   */
  isAsWritten(row: number, written: Records, at: number): boolean {
    const from = row * DIGEST_BYTES;
    const to = at * DIGEST_BYTES;
    for (let i = 0; i < DIGEST_BYTES; i += 1)
      if (this.#values[from + i] !== written.#values[to + i]) return false;
    const mine = this.metadata(row);
    const theirs = written.metadata(at);
    if ((mine === 0) !== (theirs === 0)) return false;
    if (mine !== 0 && this.metadataDigest(mine) !== written.metadataDigest(theirs)) return false;
    const ttl = this.ttl(row);
    if (!Object.is(ttl, written.ttl(at))) return false;
    return !Number.isNaN(ttl) || Object.is(this.expiration(row), written.expiration(at));
  }

  /** NaN for none. */
  expiration(row: number): number {
    return this.#expirations[row] ?? NaN;
  }

  /** NaN for none. */
  ttl(row: number): number {
    return this.#ttls[row] ?? NaN;
  }

  setTimes(row: number, expiration: number, ttl: number): void {
    this.#expirations[row] = expiration;
    this.#ttls[row] = ttl;
  }

  copyValue(row: number, to: Buffer, at: number): void {
    const from = row * DIGEST_BYTES;
    for (let i = 0; i < DIGEST_BYTES; i += 1) to[at + i] = this.#values[from + i] ?? 0;
  }

  /** Digests of the values of all rows, one after the other. */
  setValues(digests: Buffer): void {
    this.#values.set(digests);
  }

  /** Number of the metadata digest; 0 for none. */
  metadata(row: number): number {
    return this.#metadata[row] ?? 0;
  }

  setMetadata(row: number, number: number): void {
    this.#metadata[row] = number;
  }

  metadataDigest(number: number): string {
    return this.#metadataDigests[number - 1] ?? "";
  }

  metadataNumber(digest: string): number {
    const known = this.#metadataNumbers.get(digest);
    if (known !== undefined) return known;
    const number = this.#metadataDigests.push(digest);
    this.#metadataNumbers.set(digest, number);
    return number;
  }

  /** Bytes of a key from the given one on: a view, of use until the next row is added. */
  keyBytes(row: number, from = 0): Buffer {
    return this.#keys.subarray(this.#start(row) + from, this.#end(row));
  }

  /** How many bytes two keys have in common at their beginning. */
  sharedBytes(a: number, b: number): number {
    const keys = this.#keys;
    const startA = this.#start(a);
    const startB = this.#start(b);
    const lengthA = this.#end(a) - startA;
    const lengthB = this.#end(b) - startB;
    const most = lengthA < lengthB ? lengthA : lengthB;
    let shared = 0;
    while (shared < most && keys[startA + shared] === keys[startB + shared]) shared += 1;
    return shared;
  }

  /** Order of the keys' bytes. */
  compareKeys(a: number, b: number): number {
    const startA = this.#start(a);
    const startB = this.#start(b);
    const lengthA = this.#end(a) - startA;
    const lengthB = this.#end(b) - startB;
    const shared = this.sharedBytes(a, b);
    if (shared === lengthA || shared === lengthB) return lengthA - lengthB;
    return (this.#keys[startA + shared] ?? 0) - (this.#keys[startB + shared] ?? 0);
  }

  /** Makes room for so many rows. */
  reserve(rows: number): void {
    if (rows <= this.#ends.length) return;
    this.#ends = grown(new Uint32Array(rows), this.#ends);
    this.#hashes = grown(new Uint32Array(rows), this.#hashes);
    this.#values = grown(Buffer.alloc(rows * DIGEST_BYTES), this.#values);
    this.#metadata = grown(new Uint32Array(rows), this.#metadata);
    this.#expirations = grown(new Float64Array(rows).fill(NaN), this.#expirations);
    this.#ttls = grown(new Float64Array(rows).fill(NaN), this.#ttls);
    let slots = this.#slots.length;
    while (slots < rows * 2) slots *= 2;
    if (slots === this.#slots.length) return;
    this.#slots = new Uint32Array(slots);
    for (let row = 0; row < this.#rows; row += 1) this.#toSlot(row, this.#hashes[row] ?? 0);
  }

  #start(row: number): number {
    return row === 0 ? 0 : (this.#ends[row - 1] ?? 0);
  }

  #end(row: number): number {
    return this.#ends[row] ?? 0;
  }

  #toScratch(key: string): number {
    this.#reserveScratch(key.length * 3);
    return this.#scratch.write(key);
  }

  #reserveScratch(bytes: number): void {
    if (bytes > this.#scratch.length) this.#scratch = Buffer.alloc(bytes);
  }

  #search(keys: Buffer, start: number, end: number, hash: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const row = (this.#slots[slot] ?? 0) - 1;
      if (row === -1) return -1;
      if (this.#hashes[row] === hash && this.#isKey(row, keys, start, end)) return row;
    }
  }

  #isKey(row: number, keys: Buffer, start: number, end: number): boolean {
    const from = this.#start(row);
    if (this.#end(row) - from !== end - start) return false;
    for (let i = start; i < end; i += 1) if (this.#keys[from - start + i] !== keys[i]) return false;
    return true;
  }

  #append(keys: Buffer, start: number, end: number, hash: number): number {
    if (this.#rows === this.#ends.length) this.reserve(Math.max(LEAST_ROWS, this.#rows * 2));
    this.#reserveKeyBytes(end - start);
    const to = this.#keyBytes - start;
    for (let i = start; i < end; i += 1) this.#keys[to + i] = keys[i] ?? 0; // Keys are short: quicker than a copy.
    const row = this.#rows;
    this.#rows += 1;
    this.#keyBytes += end - start;
    this.#ends[row] = this.#keyBytes;
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

  #reserveKeyBytes(more: number): void {
    if (this.#keyBytes + more <= this.#keys.length) return;
    const least = Math.max(this.#keyBytes + more, Math.ceil(this.#keys.length * 1.5), LEAST_KEY_BYTES);
    this.#keys = grown(Buffer.alloc(least), this.#keys);
  }
}

/** The longer of two arrays, with the content of the shorter one. */
export function grown<T extends { set(from: T): void }>(to: T, from: T): T {
  to.set(from);
  return to;
}

const { imul } = Math;

/** FNV-1a with a last stir, so that names which count upwards spread over the table. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i += 1) hash = imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  hash = imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
