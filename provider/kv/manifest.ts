import { grown, Records } from "./records";
import { decode, encode } from "./manifest-codec";
import type { Recorded } from "./entry";

export { ManifestError } from "./manifest-codec";

/** What was written, by key. In the state it is one line of text. */
export class Manifest {
  readonly #records: Records;
  /** Rows stay when their key is deleted, until the next encoding. */
  #deleted = new Uint8Array(0);
  #size: number;

  constructor(records = new Records()) {
    this.#records = records;
    this.#size = records.rows;
  }

  get size(): number {
    return this.#size;
  }

  /** Rows, of keys that are deleted as well. */
  get rows(): number {
    return this.#records.rows;
  }

  has(key: string): boolean {
    return this.#lives(this.#records.find(key));
  }

  get(key: string): Recorded | undefined {
    const row = this.#records.find(key);
    return this.#lives(row) ? this.#records.get(row) : undefined;
  }

  set(key: string, record: Recorded): this {
    const found = this.#records.find(key);
    const row = found === -1 ? this.#records.add(key) : found;
    this.#records.set(row, record);
    this.#live(row, found);
    return this;
  }

  /** Makes room for so many keys. */
  reserve(keys: number): void {
    this.#records.reserve(keys);
  }

  /** As `set`, from a row of another table. @param expiration in place of the row's own, where it is not NaN. */
  take(from: Records, at: number, expiration = NaN): void {
    const found = this.#records.findKeyOf(from, at);
    const row = found === -1 ? this.#records.addKeyOf(from, at) : found;
    this.#records.copy(row, from, at);
    if (!Number.isNaN(expiration)) this.#records.setTimes(row, expiration, from.ttl(at));
    this.#live(row, found);
  }

  delete(key: string): boolean {
    const row = this.#records.find(key);
    if (!this.#lives(row)) return false;
    if (row >= this.#deleted.length) this.#deleted = grown(new Uint8Array(this.#records.rows), this.#deleted);
    this.#deleted[row] = 1;
    this.#size -= 1;
    return true;
  }

  /** The row of the key that another table has in `row`, or -1. */
  rowOf(other: Records, row: number): number {
    const found = this.#records.findKeyOf(other, row);
    return this.#lives(found) ? found : -1;
  }

  /** Whether what another table declares in `row` is what was written in the row `at`. */
  isWritten(declared: Records, row: number, at: number): boolean {
    return declared.isAsWritten(row, this.#records, at);
  }

  *keys(): Generator<string> {
    for (const row of this.#living()) yield this.#records.key(row);
  }

  *[Symbol.iterator](): Generator<[key: string, record: Recorded]> {
    for (const row of this.#living()) yield [this.#records.key(row), this.#records.get(row)];
  }

  /** Keys whose row is not marked in `seen`. */
  *unseen(seen: Uint8Array): Generator<string> {
    for (const row of this.#living()) if (seen[row] !== 1) yield this.#records.key(row);
  }

  encode(): Promise<string> {
    return encode(this.#records, [...this.#living()]);
  }

  /** @throws ManifestError for text that was cut off, altered, or written by a later version. */
  static async decode(text: string): Promise<Manifest> {
    return new Manifest(await decode(text));
  }

  #lives(row: number): boolean {
    return row !== -1 && this.#deleted[row] !== 1;
  }

  #live(row: number, found: number): void {
    if (found === -1 || this.#deleted[row] === 1) this.#size += 1;
    if (this.#deleted[row] === 1) this.#deleted[row] = 0;
  }

  *#living(): Generator<number> {
    for (let row = 0; row < this.#records.rows; row += 1) if (this.#deleted[row] !== 1) yield row;
  }
}
