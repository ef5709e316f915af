/**
 * The text without these characters at its end. By hand, as `/[.]+$/` looks again from each character of a long run that
 * does not stand at the end: 200,000 dots in an error took minutes.
 */
export function trimEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
