import { createHash } from "node:crypto";

const DIGEST_BYTES = 32;
const BUCKETS = 1 << 16;
/** Digests that are hashed together. */
const PORTION = 4096;

/**
 * SHA-256 over the sorted SHA-256 digests of the members: the order in which they come has no influence, and a collision
 * needs one of SHA-256 itself, which a sum or an exclusive-or of the digests would not guarantee. 32 bytes a member.
 */
export class SetDigest {
  #digests = Buffer.alloc(1024 * DIGEST_BYTES);
  #count = 0;

  /** @param digest a character for each byte. */
  add(digest: string): void {
    if (this.#digests.length === this.#count * DIGEST_BYTES) {
      this.#digests = Buffer.concat([this.#digests], this.#digests.length * 2);
    }
    this.#digests.write(digest, this.#count * DIGEST_BYTES, DIGEST_BYTES, "latin1");
    this.#count += 1;
  }

  hex(): string {
    const hash = createHash("sha256");
    const portion = Buffer.alloc(PORTION * DIGEST_BYTES);
    let bytes = 0;
    for (const i of this.#sorted()) {
      if (bytes === portion.length) {
        hash.update(portion);
        bytes = 0;
      }
      // So few bytes are copied quicker one by one.
      for (let b = 0; b < DIGEST_BYTES; b += 1) portion[bytes + b] = this.#digests[i * DIGEST_BYTES + b] ?? 0;
      bytes += DIGEST_BYTES;
    }
    return hash.update(portion.subarray(0, bytes)).digest("hex");
  }

  /** Digests are spread evenly: sorted into buckets by their first two bytes, few are left to be compared. */
  #sorted(): Uint32Array {
    const heads = new Uint32Array(this.#count);
    const starts = new Uint32Array(BUCKETS + 1);
    for (let i = 0; i < this.#count; i += 1) {
      const head = this.#digests.readUInt32BE(i * DIGEST_BYTES);
      heads[i] = head;
      starts[(head >>> 16) + 1] = (starts[(head >>> 16) + 1] ?? 0) + 1;
    }
    for (let b = 1; b <= BUCKETS; b += 1) starts[b] = (starts[b] ?? 0) + (starts[b - 1] ?? 0);

    const order = new Uint32Array(this.#count);
    const ends = starts.slice(0, BUCKETS);
    for (let i = 0; i < this.#count; i += 1) {
      const bucket = (heads[i] ?? 0) >>> 16;
      const start = starts[bucket] ?? 0;
      let to = ends[bucket] ?? 0;
      ends[bucket] = to + 1;
      for (; to > start && this.#isBefore(heads, i, order[to - 1] ?? 0); to -= 1)
        order[to] = order[to - 1] ?? 0;
      order[to] = i;
    }
    return order;
  }

  #isBefore(heads: Uint32Array, a: number, b: number): boolean {
    const headA = heads[a] ?? 0;
    const headB = heads[b] ?? 0;
    if (headA !== headB) return headA < headB;
    const startA = a * DIGEST_BYTES;
    const startB = b * DIGEST_BYTES;
    return (
      this.#digests.compare(this.#digests, startB, startB + DIGEST_BYTES, startA, startA + DIGEST_BYTES) < 0
    );
  }
}
