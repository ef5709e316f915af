import { z } from "zod";
import type { Query } from "../api/client";
import type { ResultInfo } from "../api/envelope";
import { byPage } from "../api/pages";
import { PAGE_SHIELD } from "../limits";
import { hexId, zoneId } from "../runtime/fields";
import type { Host } from "../runtime/host";
import { describe } from "../runtime/inputs";
import { record } from "../runtime/json";
import {
  optionalNumber,
  camelRecord,
  optionalBoolean,
  omitAbsent,
  optionalText,
  optionalTexts,
} from "../runtime/members";
import { ownMember } from "../runtime/values";
import type { Connection, Cookie, DetectedList, FilterValue, PageInfo, Script } from "./records";

/** A kind of detection: scripts, connections or cookies. */
export interface DetectedKind<T> {
  /** The last segment of the list's URL path, which is also the plural noun in messages. */
  readonly path: string;
  readonly noun: string;
  readonly record: z.ZodType<T>;
  /** Query parameters that make Cloudflare include the detections that it omits by default. */
  readonly includeAll: Readonly<Record<string, FilterValue>>;
}

/** Properties that scripts and connections share. */
const CONNECTION_MEMBERS = {
  id: z.string(),
  url: z.string(),
  host: z.string(),
  added_at: optionalText,
  first_seen_at: optionalText,
  last_seen_at: optionalText,
  domain_reported_malicious: optionalBoolean,
  malicious_domain_categories: optionalTexts,
  url_reported_malicious: optionalBoolean,
  malicious_url_categories: optionalTexts,
  first_page_url: optionalText,
  status: optionalText,
  url_contains_cdn_cgi_path: optionalBoolean,
  page_urls: optionalTexts,
};

export const CONNECTIONS: DetectedKind<Connection> = {
  path: "connections",
  noun: "connection",
  includeAll: { exclude_cdn_cgi: false },
  record: camelRecord(CONNECTION_MEMBERS),
};

const CONTENT_MEMBERS = {
  hash: optionalText,
  js_integrity_score: optionalNumber,
  obfuscation_score: optionalNumber,
  dataflow_score: optionalNumber,
  cryptomining_score: optionalNumber,
  magecart_score: optionalNumber,
  malware_score: optionalNumber,
  fetched_at: optionalText,
};

export const SCRIPTS: DetectedKind<Script> = {
  path: "scripts",
  noun: "script",
  includeAll: { exclude_cdn_cgi: false, exclude_duplicates: false },
  record: camelRecord({
    ...CONNECTION_MEMBERS,
    ...CONTENT_MEMBERS,
    versions: z
      .array(camelRecord(CONTENT_MEMBERS))
      .nullish()
      .transform((versions) => versions ?? undefined),
  }),
};

export const COOKIES: DetectedKind<Cookie> = {
  path: "cookies",
  noun: "cookie",
  includeAll: {},
  record: camelRecord({
    id: z.string(),
    name: z.string(),
    host: z.string(),
    type: optionalText,
    domain_attribute: optionalText,
    expires_attribute: optionalText,
    http_only_attribute: optionalBoolean,
    max_age_attribute: z.number().nullish(),
    path_attribute: optionalText,
    same_site_attribute: optionalText,
    secure_attribute: optionalBoolean,
    first_seen_at: optionalText,
    last_seen_at: optionalText,
    first_page_url: optionalText,
    page_urls: optionalTexts,
    status: optionalText,
  }),
};

const RESERVED_PARAMETERS: Readonly<Record<string, string>> = {
  hosts: "has its own argument. Set hosts",
  status: "has its own argument. Set status",
  page: "has its own argument. Set page, or omit it to read all pages",
  per_page: "has its own argument. Use perPage",
  export: "is not supported, because it makes the API return a file. Remove it",
};

const LIST_FORM = "must be a string or a list with at least one item (omit it for the default)";

const commaList = z
  .union([z.string(), z.array(z.string())], LIST_FORM)
  .refine((given) => splitWords(given).length > 0 && splitWords(given).every((word) => word !== ""), {
    error: ({ input }) => `${LIST_FORM}, not ${describe(input)}`,
  })
  .transform((given) => splitWords(given).join(","));

function splitWords(given: string | readonly string[]): string[] {
  return (typeof given === "string" ? given.split(",") : given).map((word) => word.trim());
}

const wholeNumber = (minimum: number, maximum: number, allowed: string): z.ZodType<number, number> =>
  z.number().refine((n) => Number.isInteger(n) && n >= minimum && n <= maximum, {
    error: ({ input }) => `must be ${allowed}, not ${describe(input)}`,
  });

const filters = record(
  z.union(
    [z.string(), z.number(), z.boolean(), z.array(z.string())],
    "must be a string, a number, true, false or a list of strings",
  ),
).superRefine((given, ctx) => {
  for (const name of Object.keys(given)) {
    const advice = ownMember(RESERVED_PARAMETERS, name);
    if (advice !== undefined) ctx.addIssue({ code: "custom", path: [name], message: advice });
  }
});

/** Schemas for the properties of `DetectedFilters`. */
export const filterShape = {
  hosts: commaList.optional(),
  status: commaList.optional(),
  filters: filters.optional(),
};

/** Schemas for the properties of `DetectedListArgs`. */
export const listShape = {
  zoneId,
  ...filterShape,
  page: wholeNumber(1, Number.MAX_SAFE_INTEGER, "a whole number, 1 or higher").optional(),
  perPage: wholeNumber(
    1,
    PAGE_SHIELD.MAX_PER_PAGE,
    `a whole number from 1 to ${PAGE_SHIELD.MAX_PER_PAGE}`,
  ).optional(),
};

/** A list's arguments, validated by `listShape`. */
interface ListQuery {
  readonly zoneId: string;
  readonly hosts?: string | undefined;
  readonly status?: string | undefined;
  readonly filters?: Readonly<Record<string, FilterValue>> | undefined;
  readonly page?: number | undefined;
  readonly perPage?: number | undefined;
  /** Whether the list fails if a detection can't be read. By default, that detection is left out with a warning. */
  readonly complete?: boolean;
}

/** Lists detections of one kind, from all pages or from one page. */
export async function listDetected<T extends DetectedRecord>(
  host: Host,
  { path, record }: DetectedKind<T>,
  args: ListQuery,
): Promise<DetectedList<T>> {
  const what = `Listing the ${path} in zone ${args.zoneId}`;
  const list = `/zones/${args.zoneId}/page_shield/${path}`;
  const query = toQuery(args);
  const { complete = false } = args;

  if (args.page === undefined && args.perPage === undefined) {
    const items: T[] = [];
    const order = clientSideOrder(query);
    const pages = byPage(host.api, list, {
      what,
      record,
      query: order === undefined ? query : { ...query, ...PAGE_SHIELD.STEADY_ORDER },
      perPage: PAGE_SHIELD.MAX_PER_PAGE,
      complete,
      key: ({ id }) => id,
    });
    for await (const item of pages) items.push(item);
    return { items: order === undefined ? items : items.sort(order) };
  }

  const { records, resultInfo } = await host.api.list(list, {
    what,
    record,
    complete,
    query: { ...query, page: args.page ?? 1, per_page: args.perPage ?? PAGE_SHIELD.MAX_PER_PAGE },
  });
  return { items: records, ...(resultInfo === undefined ? {} : { pageInfo: toPageInfo(resultInfo) }) };
}

/** Properties of every kind of detection. */
export interface DetectedRecord {
  readonly id: string;
  readonly firstSeenAt?: string;
  readonly lastSeenAt?: string;
}

/**
 * Returns a comparator for the requested order: pages are read in a stable order and sorted afterwards. Undefined if
 * only the API can sort in the requested order.
 */
function clientSideOrder(query: Query): ((a: DetectedRecord, b: DetectedRecord) => number) | undefined {
  const steady = PAGE_SHIELD.STEADY_ORDER;
  const { order_by: by = steady.order_by, direction = steady.direction } = query;
  const member = by === "first_seen_at" ? "firstSeenAt" : by === "last_seen_at" ? "lastSeenAt" : undefined;
  const isMaliciousFirst =
    String(query["prioritize_malicious"] ?? false) === "true" && query["order_by"] !== undefined;
  if (member === undefined || isMaliciousFirst || (direction !== "asc" && direction !== "desc"))
    return undefined;
  if (member === "firstSeenAt" && direction === "asc") return () => 0;
  const sign = direction === "asc" ? 1 : -1;
  const time = (record: DetectedRecord): number => Date.parse(record[member] ?? "") || 0;
  return (a, b) => sign * (time(a) - time(b));
}

/** Reads one detection, including the properties that lists omit. */
export function getDetected<T>(
  host: Host,
  { path, noun, record }: DetectedKind<T>,
  zoneId: string,
  id: string,
): Promise<T> {
  return host.api.get(`/zones/${zoneId}/page_shield/${path}/${id}`, {
    what: `Reading ${noun} ${id} in zone ${zoneId}`,
    schema: record,
  });
}

/** @param lookup the lookup that lists such IDs, for error messages. */
export function recordId(noun: string, lookup: string): z.ZodType<string, string> {
  return hexId(`a ${noun} ID`, `Find it with ${lookup}.`);
}

function toQuery(args: ListQuery): Query {
  const filters = Object.entries(args.filters ?? {}).map(
    ([name, value]): [string, string | number | boolean] => [
      name,
      typeof value === "object" ? value.join(",") : value,
    ],
  );
  return { ...Object.fromEntries(filters), hosts: args.hosts, status: args.status };
}

function toPageInfo(info: ResultInfo): PageInfo {
  return omitAbsent({
    page: info.page,
    perPage: info.per_page,
    count: info.count,
    totalCount: info.total_count,
    totalPages: info.total_pages,
  });
}

/** A script's score. Undefined before its first analysis, and on plans without scores. */
interface Scored {
  readonly jsIntegrityScore?: number | null | undefined;
}

/** Whether a script's score is below the threshold. Undefined if it has no score. */
export function isScoredBelow({ jsIntegrityScore }: Scored, threshold: number): boolean | undefined {
  const score = jsIntegrityScore ?? undefined;
  return score === undefined ? undefined : score < threshold;
}

/** The threat list flags of a script. */
interface Listed {
  readonly urlReportedMalicious?: boolean | undefined;
  readonly domainReportedMalicious?: boolean | undefined;
}

/** Whether the script's URL or domain is on a threat list. */
export function isReported({ urlReportedMalicious, domainReportedMalicious }: Listed): boolean {
  return urlReportedMalicious === true || domainReportedMalicious === true;
}

/** Whether the script's score is below the threshold, or the script is on a threat list. */
export function isThreat(script: Scored & Listed, threshold: number): boolean {
  return isScoredBelow(script, threshold) === true || isReported(script);
}
