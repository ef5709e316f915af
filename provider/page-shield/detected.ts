import { z } from "zod";
import type { Query } from "../api/client";
import type { ResultInfo } from "../api/envelope";
import { byPage } from "../api/pages";
import { PAGE_SHIELD } from "../limits";
import { hexId, zoneId } from "../runtime/fields";
import type { Host } from "../runtime/host";
import { describe } from "../runtime/inputs";
import { record } from "../runtime/json";
import { own } from "../runtime/values";
import { present } from "../runtime/members";
import { readArgs, type Known } from "../runtime/lookup";

/** State of a record: seen lately, fewer than 3 times, or not for a week (seed 000, "States"; OpenAPI adds `inactive`). */
export type RecordStatus = Known<"active" | "infrequent" | "inactive">;

/** A query parameter's value; a list is sent with commas. */
export type FilterValue = string | number | boolean | readonly string[];

/** Which records a list returns. */
export interface DetectedFilters {
  /** Hosts whose pages are meant; `*` at start or end stands for anything. Default: all. Source: seed 000, "List query parameters". */
  readonly hosts?: string | readonly string[];
  /** States that are meant, sent as they are. Default: the service's, which is `active`. Source: seed 000, "States and transitions". */
  readonly status?: RecordStatus | readonly RecordStatus[];
  /**
   * Any other query parameter under the API's own name, sent as it is: `{ exclude_cdn_cgi: false }`. Source: OpenAPI
   * `page-shield-list-page-shield-scripts` and its siblings.
   */
  readonly filters?: Readonly<Record<string, FilterValue>>;
}

export interface DetectedListArgs extends DetectedFilters {
  /** The zone, 32 hexadecimal digits. */
  readonly zoneId: string;
  /** One page alone, 1 or higher. Default: all pages are read, oldest record first; with `perPage` alone the first. Source: seed 000, rule 1. */
  readonly page?: number;
  /** Records per page, 1 to 100. Given, only one page is read. Default 100. Source: seed 000, rule 1; the maximum is the OpenAPI's. */
  readonly perPage?: number;
}

/** Where in the list a page is, as the service says; what it does not say is absent. */
export interface PageInfo {
  readonly page?: number;
  readonly perPage?: number;
  /** Records in this page. */
  readonly count?: number;
  /** Records that match, in all pages. */
  readonly totalCount?: number;
  readonly totalPages?: number;
}

export interface DetectedList<T> {
  readonly items: readonly T[];
  /** Only where one page was asked for. */
  readonly pageInfo?: PageInfo;
}

/** One kind of record that the service detects. */
export interface DetectedKind<T> {
  /** Last segment of the list's path, and the plural for people. */
  readonly path: string;
  readonly noun: string;
  readonly record: z.ZodType<T>;
  /** Filters that let every record through, also what the service leaves out by itself. Source: OpenAPI. */
  readonly everything: Readonly<Record<string, FilterValue>>;
}

const OWN_PARAMETERS: Readonly<Record<string, string>> = {
  hosts: "set it by the argument hosts",
  status: "set it by the argument status",
  page: "set it by the argument page; without it all pages are read",
  per_page: "set it by the argument perPage",
  export: "is refused: its answer is a file, which a lookup does not read; leave it out",
};

const noList = ({ input }: { readonly input?: unknown }): string =>
  `has to be a word or a list of at least one; ${describe(input)} was given. Leave it out for the default`;

const commaList = z
  .union([z.string(), z.array(z.string())], { error: noList })
  .refine((given) => wordsOf(given).length > 0 && wordsOf(given).every((word) => word !== ""), {
    error: noList,
  })
  .transform((given) => wordsOf(given).join(","));

function wordsOf(given: string | readonly string[]): string[] {
  return (typeof given === "string" ? given.split(",") : given).map((word) => word.trim());
}

const wholeNumber = (minimum: number, maximum: number, allowed: string): z.ZodType<number, number> =>
  z.number().refine((n) => Number.isInteger(n) && n >= minimum && n <= maximum, {
    error: ({ input }) => `has to be ${allowed}; ${describe(input)} was given`,
  });

const filters = record(
  z.union([z.string(), z.number(), z.boolean(), z.array(z.string())], {
    error: ({ input }) =>
      `has to be text, a number, true, false, or a list of texts; it is ${describe(input)}`,
  }),
).superRefine((given, ctx) => {
  for (const name of Object.keys(given)) {
    const advice = own(OWN_PARAMETERS, name);
    if (advice !== undefined) ctx.addIssue({ code: "custom", path: [name], message: advice });
  }
});

/** Schemas of `DetectedFilters`. */
export const filterShape = {
  hosts: commaList.optional(),
  status: commaList.optional(),
  filters: filters.optional(),
};

const listShape = {
  zoneId,
  ...filterShape,
  page: wholeNumber(1, Number.MAX_SAFE_INTEGER, "a whole number, 1 or higher").optional(),
  perPage: wholeNumber(
    1,
    PAGE_SHIELD.MAX_PER_PAGE,
    `a whole number from 1 to ${PAGE_SHIELD.MAX_PER_PAGE}`,
  ).optional(),
};

/**
 * Records of one kind: all pages, or the one page asked for.
 *
 * @throws LookupError for an argument that is wrong, before anything is sent.
 */
export async function listDetected<T extends Dated>(
  host: Host,
  lookup: string,
  { path, record }: DetectedKind<T>,
  given: unknown,
): Promise<DetectedList<T>> {
  const args = readArgs(lookup, listShape, given);
  const what = `Listing the ${path} of zone ${args.zoneId}`;
  const list = `/zones/${args.zoneId}/page_shield/${path}`;
  const query = queryOf(args);

  if (args.page === undefined && args.perPage === undefined) {
    const items: T[] = [];
    const order = orderOf(query);
    const pages = byPage(host.api, list, {
      what,
      record,
      query: order === undefined ? query : { ...query, ...PAGE_SHIELD.STEADY_ORDER },
      perPage: PAGE_SHIELD.MAX_PER_PAGE,
      key: ({ id }) => id,
    });
    for await (const item of pages) items.push(item);
    return { items: order === undefined ? items : items.sort(order) };
  }

  const { records, resultInfo } = await host.api.list(list, {
    what,
    record,
    query: { ...query, page: args.page ?? 1, per_page: args.perPage ?? PAGE_SHIELD.MAX_PER_PAGE },
  });
  return { items: records, ...(resultInfo === undefined ? {} : { pageInfo: toPageInfo(resultInfo) }) };
}

interface Dated {
  readonly id: string;
  readonly firstSeenAt?: string;
  readonly lastSeenAt?: string;
}

/**
 * The order a query asks for, to be made here once all pages have been read in the steady one. Undefined where only the
 * API can make it.
 */
function orderOf(query: Query): ((a: Dated, b: Dated) => number) | undefined {
  const steady = PAGE_SHIELD.STEADY_ORDER;
  const { order_by: by = steady.order_by, direction = steady.direction } = query;
  const member = by === "first_seen_at" ? "firstSeenAt" : by === "last_seen_at" ? "lastSeenAt" : undefined;
  const toldByApi =
    String(query["prioritize_malicious"] ?? false) === "true" && query["order_by"] !== undefined;
  if (member === undefined || toldByApi || (direction !== "asc" && direction !== "desc")) return undefined;
  if (member === "firstSeenAt" && direction === "asc") return () => 0;
  const sign = direction === "asc" ? 1 : -1;
  const time = (record: Dated): number => Date.parse(record[member] ?? "") || 0;
  return (a, b) => sign * (time(a) - time(b));
}

/** One record, with what only the detail has. */
export async function getDetected<T>(
  host: Host,
  lookup: string,
  { path, noun, record }: DetectedKind<T>,
  given: unknown,
): Promise<T> {
  const id = `${noun}Id`;
  const args = readArgs(lookup, { zoneId, [id]: recordId(noun) }, given);
  return await host.api.get(`/zones/${args.zoneId}/page_shield/${path}/${String(args[id])}`, {
    what: `Reading ${noun} ${String(args[id])} of zone ${args.zoneId}`,
    schema: record,
  });
}

export function recordId(noun: string): z.ZodType<string, string> {
  return hexId(`The id of a ${noun} stands in the list of its zone.`);
}

function queryOf(args: {
  readonly hosts?: string | undefined;
  readonly status?: string | undefined;
  readonly filters?: Readonly<Record<string, FilterValue>> | undefined;
}): Query {
  const further = Object.entries(args.filters ?? {}).map(
    ([name, value]): [string, string | number | boolean] => [
      name,
      typeof value === "object" ? value.join(",") : value,
    ],
  );
  return { ...Object.fromEntries(further), hosts: args.hosts, status: args.status };
}

function toPageInfo(info: ResultInfo): PageInfo {
  return present({
    page: info.page,
    perPage: info.per_page,
    count: info.count,
    totalCount: info.total_count,
    totalPages: info.total_pages,
  });
}
