/**
 * Returns the filter expression for a page rule's URL pattern: host and path, optionally with a scheme, with `*` as a
 * wildcard.
 */
export function expressionOf(url: string): string {
  const [, scheme, rest = url] = /^(https?):\/\/(.*)$/.exec(url) ?? [];
  const slash = rest.indexOf("/");
  const host = slash < 0 ? rest : rest.slice(0, slash);
  const path = slash < 0 ? "/*" : rest.slice(slash);
  const conditions = [
    ...(scheme === undefined ? [] : [scheme === "https" ? "ssl" : "not ssl"]),
    ...like("http.host", host),
    ...like("http.request.uri.path", path === "/*" ? "*" : path),
  ];
  return conditions.length === 0 ? "true" : conditions.join(" and ");
}

export function anyOf(expressions: readonly string[]): string {
  return expressions.length === 1
    ? expressions.join()
    : expressions.map((expression) => `(${expression})`).join(" or ");
}

function like(field: string, pattern: string): string[] {
  const text = JSON.stringify(pattern.replaceAll("*", ""));
  if (/^\*+$/.test(pattern)) return [];
  if (!pattern.includes("*")) return [`${field} eq ${text}`];
  if (/^\*[^*]+$/.test(pattern)) return [`ends_with(${field}, ${text})`];
  if (/^[^*]+\*$/.test(pattern)) return [`starts_with(${field}, ${text})`];
  return [`${field} wildcard ${JSON.stringify(pattern)}`];
}
