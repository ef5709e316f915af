import { createHash, hash as hashOnce } from "node:crypto";
import { isPast, placeOf, type Place } from "./check-entry";
import { recordOf, type Entry } from "./entry";
import { SourceError, type Source } from "./source";

/** A source of entries in a few lines: what the inputs of a KvEntries show in place of the entries. */
export interface Summary {
  readonly keys: number;
  /** Bytes of all values as the service stores them. */
  readonly bytes: number;
  /** 64 hexadecimal digits, the same for the same entries in whatever order, file or encoding. */
  readonly digest: string;
  /** The first ten sentences, then how many more. With any of them nothing may be sent. */
  readonly problems: readonly string[];
  /** Entries whose expiry has passed: never sent. */
  readonly expired: number;
  /** The first ten sentences, then how many more. */
  readonly warnings: readonly string[];
}

/** Reads the source once. */
export async function summarize(source: Source, nowSeconds = Date.now() / 1000): Promise<Summary> {
  const problems = new FirstFew("problem");
  const warnings = new FirstFew("warning");
  const seen = new KeyPlaces();
  const whole = new SetDigest();
  let keys = 0;
  let bytes = 0;
  let expired = 0;
  try {
    for await (const { given, checked } of source.examine()) {
      // 1. Keys of a map and paths of a directory are unique by nature. A bad entry has its place as well.
      if (source.kind === "file" && typeof given.key === "string") {
        const first = seen.claim(given.key, given.place);
        if (first !== undefined)
          problems.add(
            `${placeOf(given.place, given.key)}: the key stands in entry ${first.position} (line ${first.line}) already; keep one of the two`,
          );
      }
      // 2. The entry itself.
      if ("problems" in checked) {
        checked.problems.forEach((problem) => problems.add(problem));
        continue;
      }
      checked.warnings.forEach((warning) => warnings.add(warning));
      keys += 1;
      bytes += checked.bytes;
      if (isPast(checked.entry, nowSeconds)) expired += 1;
      whole.add(entryDigest(checked.entry));
    }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    problems.add(error.message, "last");
  }
  return {
    keys,
    bytes,
    digest: whole.hex(),
    problems: problems.lines(),
    expired,
    warnings: warnings.lines(),
  };
}

/** Of everything an entry says: its key, the stored bytes, metadata and when it ends. */
function entryDigest(entry: Entry): Buffer {
  const { value, metadata = null, expiration = null, ttl = null } = recordOf(entry);
  return hashOnce("sha256", JSON.stringify([entry.key, value, metadata, expiration, ttl]), "buffer");
}

const SHOWN_LINES = 10;

class FirstFew {
  readonly #what: string;
  readonly #lines: string[] = [];
  #last: string[] = [];
  #more = 0;

  constructor(what: string) {
    this.#what = what;
  }

  /** @param rank `last` for what ended the reading: shown in any case, after the others. */
  add(line: string, rank?: "last"): void {
    if (rank === "last") this.#last = [line];
    else if (this.#lines.length < SHOWN_LINES) this.#lines.push(line);
    else this.#more += 1;
  }

  lines(): string[] {
    const more =
      this.#more === 0 ? [] : [`and ${this.#more} more ${this.#what}${this.#more === 1 ? "" : "s"}`];
    return [...this.#lines, ...more, ...this.#last];
  }
}

const DIGEST_BYTES = 32;

/**
 * SHA-256 over the sorted SHA-256 digests of the members: the order in which they come has no influence, and a collision
 * needs one of SHA-256 itself, which a sum or an exclusive-or of the digests would not guarantee. 32 bytes a member.
 */
export class SetDigest {
  #digests = Buffer.alloc(1024 * DIGEST_BYTES);
  #count = 0;

  add(digest: Buffer): void {
    if (this.#digests.length === this.#count * DIGEST_BYTES) {
      this.#digests = Buffer.concat([this.#digests], this.#digests.length * 2);
    }
    this.#digests.set(digest, this.#count * DIGEST_BYTES);
    this.#count += 1;
  }

  hex(): string {
    const digests = this.#digests;
    const heads = new Uint32Array(this.#count);
    for (let i = 0; i < this.#count; i += 1) heads[i] = digests.readUInt32BE(i * DIGEST_BYTES);
    const order = new Uint32Array(this.#count)
      .map((_, i) => i)
      .sort((a, b) => (heads[a] ?? 0) - (heads[b] ?? 0) || Buffer.compare(this.#at(a), this.#at(b)));
    const hash = createHash("sha256");
    for (const i of order) hash.update(this.#at(i));
    return hash.digest("hex");
  }

  #at(i: number): Buffer {
    return this.#digests.subarray(i * DIGEST_BYTES, (i + 1) * DIGEST_BYTES);
  }
}

/** 32-bit words of a key's digest that are kept: at 128 bits no two keys of a file share them by chance. */
const WORDS = 4;

/**
 * Where each key stood first: a hash table of digests in place of the keys, 24 bytes a slot, at most three quarters
 * full. A million keys take 50 MB.
 */
class KeyPlaces {
  #slots = 1 << 12;
  #digests = new Uint32Array(this.#slots * WORDS);
  /** Position and line; position 0 is a free slot. */
  #places = new Uint32Array(this.#slots * 2);
  #count = 0;
  readonly #words = new Uint32Array(WORDS);

  /** The place of the same key earlier on; undefined when this is the first. */
  claim(key: string, { position = 0, line = 0 }: Place): { position: number; line: number } | undefined {
    if (this.#count * 4 >= this.#slots * 3) this.#grow();
    const hash = hashOnce("sha256", key, "buffer");
    const words = this.#words;
    for (let i = 0; i < WORDS; i += 1) words[i] = hash.readUInt32LE(i * 4);
    const slot = this.#find(words, 0);
    const found = this.#places[slot * 2] ?? 0;
    if (found !== 0) return { position: found, line: this.#places[slot * 2 + 1] ?? 0 };
    this.#digests.set(words, slot * WORDS);
    this.#places.set([position, line], slot * 2);
    this.#count += 1;
    return undefined;
  }

  /** The slot of the digest at `from`, or the free one where it belongs. */
  #find(words: Uint32Array, from: number): number {
    const digests = this.#digests;
    let slot = (words[from] ?? 0) & (this.#slots - 1);
    for (; this.#places[slot * 2] !== 0; slot = (slot + 1) & (this.#slots - 1)) {
      let same = 0;
      while (same < WORDS && digests[slot * WORDS + same] === words[from + same]) same += 1;
      if (same === WORDS) break;
    }
    return slot;
  }

  #grow(): void {
    const [digests, places] = [this.#digests, this.#places];
    const before = this.#slots;
    this.#slots *= 2;
    this.#digests = new Uint32Array(this.#slots * WORDS);
    this.#places = new Uint32Array(this.#slots * 2);
    for (let old = 0; old < before; old += 1) {
      if (places[old * 2] === 0) continue;
      const slot = this.#find(digests, old * WORDS);
      this.#digests.set(digests.subarray(old * WORDS, (old + 1) * WORDS), slot * WORDS);
      this.#places.set(places.subarray(old * 2, old * 2 + 2), slot * 2);
    }
  }
}
