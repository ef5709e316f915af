/**
 * 2 to the power of `pairs` keys with the same FNV-1a hash (32 bits), which collide in a hash table without a seed.
 * From each hash, two blocks lead to the same next hash; a key has either of them.
 */
export function collidingKeys(pairs: number): string[] {
  let keys = [""];
  let hash = OFFSET_BASIS;
  for (let pair = 0; pair < pairs; pair += 1) {
    const blocks = blocksOfOneHash(hash);
    keys = keys.flatMap((key) => blocks.map((block) => key + block));
    hash = fnv1a(blocks[0], hash);
  }
  return keys;
}

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** Of ASCII text. */
export function fnv1a(text: string, from = OFFSET_BASIS): number {
  let hash = from;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME) >>> 0;
  return hash;
}

function blocksOfOneHash(from: number): [string, string] {
  const known = new Map<number, string>();
  for (let n = 0; ; n += 1) {
    const block = (Math.imul(n, 0x9e3779b1) >>> 0).toString(36).padStart(7, "0"); // Every block once, in random order.
    const hash = fnv1a(block, from);
    const other = known.get(hash);
    if (other !== undefined) return [other, block];
    known.set(hash, block);
  }
}
