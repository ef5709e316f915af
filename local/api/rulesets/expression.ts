/**
 * What is wrong with a filter expression; nothing where it could be one. Looks at words and brackets, not at grammar
 * and types: enough to refuse what a person mistypes.
 */
export function complaint(expression: string): string | undefined {
  const open: string[] = [];
  let rest = expression;
  let words = 0;
  while (rest !== "") {
    const [token = "", kind] = nextToken(rest);
    const at = `Filter parsing error (1:${expression.length - rest.length + 1})`;
    if (kind === undefined)
      return `${at}: ${rest.startsWith('"') ? "unterminated string" : "unexpected token"}`;
    if (kind === "word") {
      if (!isKnown(token, rest.slice(token.length))) return `${at}: unknown identifier ${token}`;
      words += 1;
    }
    if (kind === "open") open.push(closing[token] ?? "");
    if (kind === "close" && open.pop() !== token) return `${at}: unexpected ${token}`;
    rest = rest.slice(token.length);
  }
  if (open.length > 0) return `Filter parsing error: missing ${open.at(-1) ?? ""}`;
  return words === 0 ? "Filter parsing error: no field is looked at" : undefined;
}

type Kind = "space" | "string" | "address" | "list" | "word" | "operator" | "open" | "close";

const tokens: readonly (readonly [Kind, RegExp])[] = [
  ["space", /^\s+/],
  ["string", /^r(#*)"[^]*?"\1|^"(?:\\[^]|[^"\\])*"/],
  ["address", /^(?:[0-9a-fA-F]*:[0-9a-fA-F:.]*|\d[\d.]*)(?:\/\d+)?/],
  ["list", /^\$[a-z0-9_.]+/],
  ["word", /^[A-Za-z_][\w.]*/],
  ["operator", /^(?:==|!=|<=|>=|&&|\|\||\^\^|\.\.|[<>~!&,*-])/],
  ["open", /^[({[]/],
  ["close", /^[)}\]]/],
];

const closing: Readonly<Record<string, string>> = { "(": ")", "{": "}", "[": "]" };

const keywords = new Set(
  "and or xor not eq ne lt le gt ge contains matches in wildcard strict bitwise_and true false".split(" "),
);

function nextToken(text: string): [string, Kind] | [] {
  for (const [kind, pattern] of tokens) {
    const found = pattern.exec(text)?.[0];
    if (found !== undefined && found !== "") return [found, kind];
  }
  return [];
}

/** A keyword, a function, or a field of a part that the service knows. */
function isKnown(word: string, after: string): boolean {
  if (keywords.has(word) || /^\s*\(/.test(after)) return true;
  return word === "ssl" || /^(?:cf|http|ip|raw|ssl|tcp|udp)\.[a-z]/.test(word);
}
