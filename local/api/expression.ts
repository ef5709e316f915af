/** Text, punctuation and words. Whatever else isn't space is no part of an expression. */
const TOKEN =
  /\s+|r(#*)"[^]*?"\1|"(?:\\[^]|[^"\\])*"|\$?[\w-]+(?:[.:/][\w-]+)*|::[\w:/]*|[({[\]})]|\.\.|,|\*|[=!<>]=|[<>!~]|&&?|\|\||\^\^/y;
const CLOSING: Readonly<Record<string, string>> = { "(": ")", "{": "}", "[": "]" };
const FIELD = /^(?:(?:cf|http|ip|raw|tcp|udp|icmp)\.|ssl$)/;
const OPERATOR =
  /^(?:and|or|xor|not|in|eq|ne|lt|le|gt|ge|contains|matches|wildcard|strict|bitwise_and|true|false)$/;
const LITERAL = /^(?:\$|-?[\da-f]*[\d:])/i;

/**
 * Returns what's wrong with a filter expression, in the format of Cloudflare's parser. Undefined if it could be valid.
 * Checks only its words and brackets: text is quoted, every name is an operator, a function or in one of Cloudflare's
 * namespaces, and whatever opens is closed.
 */
export function complaint(expression: string): string | undefined {
  const at = (position: number, why: string): string => {
    const before = expression.slice(0, position).split("\n");
    return `Filter parsing error (${before.length}:${(before.at(-1) ?? "").length + 1}): ${why}`;
  };
  if (expression.trim() === "") return at(0, "expected identifier");
  const open: string[] = [];
  for (let position = 0; position < expression.length;) {
    TOKEN.lastIndex = position;
    const token = TOKEN.exec(expression)?.[0];
    if (token === undefined) return at(position, "unrecognized input");
    const closing = CLOSING[token];
    if (closing !== undefined) open.push(closing);
    else if (/^[)}\]]$/.test(token) && open.pop() !== token) return at(position, "unrecognized input");
    const isName = /^[a-z_]/i.test(token) && !/^r?#*"|"$/.test(token);
    const isCall = /^\s*\(/.test(expression.slice(position + token.length, position + token.length + 9));
    if (isName && !isCall && !OPERATOR.test(token) && !FIELD.test(token) && !LITERAL.test(token))
      return at(position, `unknown identifier ${token}: text is quoted`);
    position += token.length;
  }
  const missing = open.at(-1);
  return missing === undefined ? undefined : at(expression.length, `expected literal "${missing}"`);
}
