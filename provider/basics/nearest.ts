/** Longer words aren't compared: nobody misspells one, and the comparison would take minutes. */
const LONGEST_WORD = 200;

/** Finds the candidate that the user most likely meant. Undefined if none is similar. */
export function nearest(word: string, all: readonly string[]): string | undefined {
  if (word.length > LONGEST_WORD) return undefined;
  const given = word.toLowerCase();
  const candidates = all.filter(({ length }) => length <= LONGEST_WORD);
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: distance(given, candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  if (best !== undefined && best.distance <= Math.max(2, Math.floor(word.length / 3))) return best.candidate;
  const [part, ...more] = candidates.filter((candidate) => isPartOf(given, candidate.toLowerCase()));
  return more.length === 0 ? part : undefined;
}

const LEAST_PART = 5;

/** Whether one word begins or ends with the other, like "scoreThreshold" and "threshold". */
function isPartOf(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.length >= LEAST_PART && (long.startsWith(short) || long.endsWith(short));
}

/** Computes the Levenshtein distance. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(
        Math.min(
          (row[j] ?? 0) + 1,
          (next[j - 1] ?? 0) + 1,
          (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
        ),
      );
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
