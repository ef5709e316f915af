/**
 * As many keys as 2 to the power of `pairs`, all of one FNV-1a hash (32 bits), which a table that knows no seed may not
 * tell apart: two blocks lead from each hash to the same next one, and either may stand in the key.
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

/** Of ASCII. */
export function fnv1a(text: string, from = OFFSET_BASIS): number {
  let hash = from;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME) >>> 0;
  return hash;
}

function blocksOfOneHash(from: number): [string, string] {
  const known = new Map<number, string>();
  for (let n = 0; ; n += 1) {
    const block = (Math.imul(n, 0x9e3779b1) >>> 0).toString(36).padStart(7, "0"); // Each once, in no order.
    const hash = fnv1a(block, from);
    const other = known.get(hash);
    if (other !== undefined) return [other, block];
    known.set(hash, block);
  }
}
