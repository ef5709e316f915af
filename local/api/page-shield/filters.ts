import { z } from "zod";
import type { Limits } from "../limits";
import { pagingParameters } from "../paging";
import { type Connection, type Cookie, recordStatus, type Script } from "./entities";

const flag = z.enum(["true", "false"]).transform((text) => text === "true");
const list = z.string().transform((text) => text.split(",").filter((part) => part !== ""));
/** The filters that lookups and tests use. Any other parameter is ignored. */
const statuses = list.pipe(z.array(recordStatus)).default(["active"]);

function commonParameters(limits: Limits) {
  return {
    ...pagingParameters(limits),
    hosts: list.optional(),
    status: statuses,
    order_by: z.enum(["first_seen_at", "last_seen_at"]).default("last_seen_at"),
    direction: z.enum(["asc", "desc"]).default("desc"),
  };
}

export function connectionParameters(limits: Limits) {
  return z.object({
    ...commonParameters(limits),
    urls: list.optional(),
    prioritize_malicious: flag.default(false),
    exclude_cdn_cgi: flag.default(true),
  });
}

export function scriptParameters(limits: Limits) {
  return connectionParameters(limits).extend({ exclude_duplicates: flag.default(true) });
}

export function cookieParameters(limits: Limits) {
  return z.object({ ...commonParameters(limits), name: z.string().optional(), secure: flag.optional() });
}

type CommonQuery = z.infer<z.ZodObject<ReturnType<typeof commonParameters>>>;
type ConnectionQuery = z.infer<ReturnType<typeof connectionParameters>>;
type ScriptQuery = z.infer<ReturnType<typeof scriptParameters>>;
type CookieQuery = z.infer<ReturnType<typeof cookieParameters>>;

export function selectScripts(
  scripts: readonly Script[],
  query: ScriptQuery,
  maliciousBelow: number,
): Script[] {
  const found = withoutNoise(filterCommon(scripts, query), query);
  const unique = query.exclude_duplicates ? withoutDuplicates(found) : found;
  return maliciousFirst(unique, query, (script) => {
    return reported(script) || (script.js_integrity_score ?? Infinity) < maliciousBelow;
  });
}

export function selectConnections(connections: readonly Connection[], query: ConnectionQuery): Connection[] {
  return maliciousFirst(withoutNoise(filterCommon(connections, query), query), query, reported);
}

export function selectCookies(cookies: readonly Cookie[], query: CookieQuery): Cookie[] {
  return filterCommon(cookies, query).filter(
    (cookie) =>
      (query.name === undefined || matchesWildcard(cookie.name, query.name)) &&
      (query.secure === undefined || cookie.secure_attribute === query.secure),
  );
}

type Common = Pick<Cookie, "id" | "host" | "status" | "first_seen_at" | "last_seen_at">;

function filterCommon<T extends Common>(records: readonly T[], query: CommonQuery): T[] {
  return records
    .filter(
      ({ host, status }) =>
        query.status.includes(status) &&
        (query.hosts === undefined || query.hosts.some((pattern) => matchesWildcard(host, pattern))),
    )
    .sort(byTime(query));
}

function withoutNoise<T extends Connection>(records: readonly T[], query: ConnectionQuery): T[] {
  return records.filter(
    ({ url, url_contains_cdn_cgi_path }) =>
      !(query.exclude_cdn_cgi && url_contains_cdn_cgi_path) &&
      (query.urls === undefined || query.urls.some((part) => url.includes(part))),
  );
}

/**
 * Removes duplicates. Of scripts with the same content, URL host and page host, only the most recently seen one is
 * listed.
 */
function withoutDuplicates(scripts: readonly Script[]): Script[] {
  const newest = new Map<string, Script>();
  for (const script of scripts) {
    const known = newest.get(identity(script));
    if (known === undefined || Date.parse(known.last_seen_at) < Date.parse(script.last_seen_at)) {
      newest.set(identity(script), script);
    }
  }
  return scripts.filter((script) => newest.get(identity(script)) === script);
}

function identity({ id, hash, url, host }: Script): string {
  return hash === null || !URL.canParse(url) ? id : [hash, new URL(url).host, host].join(" ");
}

function reported({ domain_reported_malicious, url_reported_malicious }: Connection): boolean {
  return domain_reported_malicious || url_reported_malicious;
}

function maliciousFirst<T>(
  records: readonly T[],
  query: ConnectionQuery,
  isMalicious: (record: T) => boolean,
): T[] {
  if (!query.prioritize_malicious) return [...records];
  return [...records.filter(isMalicious), ...records.filter((record) => !isMalicious(record))];
}

/** Sorts by time. Ties are ordered by ID, so that pages never overlap. */
function byTime({ order_by, direction }: CommonQuery) {
  const sign = direction === "asc" ? 1 : -1;
  return (a: Common, b: Common) =>
    sign * (Date.parse(a[order_by]) - Date.parse(b[order_by])) || (a.id < b.id ? -1 : 1);
}

/** Matches a pattern with `*` at the start, the end or both. Otherwise, the match is exact. */
function matchesWildcard(text: string, pattern: string): boolean {
  const open = pattern.startsWith("*");
  const end = pattern.length > 1 && pattern.endsWith("*");
  const middle = pattern.slice(open ? 1 : 0, end ? -1 : undefined);
  if (open && end) return text.includes(middle);
  if (open) return text.endsWith(middle);
  return end ? text.startsWith(middle) : text === middle;
}
