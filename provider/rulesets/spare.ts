import { MIGRATION } from "../limits/index";
import { quotedString } from "../rules-language/equivalence";
import type { RuleEvents } from "./traffic-events";

/** Writes the exception that would spare requests which had events. It matches no others. */

const HOST = "http.host";
const METHOD = "http.request.method";
const PATH = "http.request.uri.path";

/** Requests that are alike, and how many events they had. */
export interface RequestKind extends Pick<RuleEvents, "count"> {
  readonly host: string;
  readonly method: string;
  readonly path: string;
}

/** Returns what events say about their requests, the most frequent first. */
export function kindsOf(events: readonly RuleEvents[]): RequestKind[] {
  const kinds = new Map<string, RequestKind>();
  for (const { count, fields } of events) {
    const { [HOST]: host, [METHOD]: method, [PATH]: path } = fields;
    if (host === undefined || method === undefined || path === undefined) continue;
    const key = JSON.stringify([host, method, path]);
    kinds.set(key, { host, method, path, count: count + (kinds.get(key)?.count ?? 0) });
  }
  return [...kinds.values()].sort((a, b) => b.count - a.count);
}

/** Returns an expression that matches these requests only. */
export function expressionFor(kinds: readonly RequestKind[]): string {
  const targets = new Map<string, string[]>();
  for (const { host, method, path } of kinds) {
    const target = `${HOST} eq ${literal(host)} and ${METHOD} eq ${literal(method)}`;
    targets.set(target, [...(targets.get(target) ?? []), literal(path)]);
  }
  return [...targets]
    .map(([target, paths]) => `(${target} and ${PATH} in {${paths.join(" ")}})`)
    .join(" or ");
}

/** Whether Cloudflare accepts an expression for these requests. The limit is the same as in the previous WAF. */
export const fits = (kinds: readonly RequestKind[]): boolean =>
  Buffer.byteLength(expressionFor(kinds)) <= MIGRATION.MAX_EXPRESSION_BYTES;

/** Writes a text without the characters that mean something where people paste the expression or CI prints it. */
function literal(text: string): string {
  return quotedString(Buffer.from(text, "utf8").toString("latin1")).replace(
    /[#$<`]/g,
    (sign) => `\\x${sign.charCodeAt(0).toString(16)}`,
  );
}
