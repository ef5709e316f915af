/** Formats numbers, times and names for the page. */

export function amount(count: number): string {
  return count.toLocaleString("en");
}

/** Formats a count with its noun: `1 zone`, `2 zones`, `2 policies`. */
export function counted(count: number, noun: string): string {
  const plural = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${amount(count)} ${count === 1 ? noun : plural}`;
}

/** Formats a time from the API, to the minute. */
export function timeOf(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

export function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** Returns the words of a name: `lastComplete` becomes "Last complete", and `zoneId` "Zone ID". */
export function spelled(name: string): string {
  return capitalized(name)
    .replace(/([a-z])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`)
    .replace(/\b(id|url)\b/i, (word) => word.toUpperCase());
}
