import { z } from "zod";
import type { EdgeApi, Query } from "./client";
import { ApiError } from "./errors";

export interface ListOptions<T> {
  readonly what: string;
  /** Shape of one item. */
  readonly schema: z.ZodType<T>;
  readonly query?: Query;
  /** Items per request; the service's maximum for this list. */
  readonly perPage: number;
  /** What makes an item itself, to pass over one that slid to the next page while we read. */
  readonly key: (item: T) => string;
}

/** All items of a list with `page` and `per_page` (facts 1.6), one page in memory at a time. */
export async function* byPage<T>(
  api: EdgeApi,
  path: string,
  options: ListOptions<T>,
): AsyncGenerator<T, void, undefined> {
  const fresh = unseen(options.key);
  for (let page = 1; ; page += 1) {
    const { result, resultInfo } = await api.send("GET", path, {
      what: options.what,
      schema: z.array(options.schema).nullable(),
      query: { ...options.query, page, per_page: options.perPage },
    });
    const items = result ?? [];
    const unread = items.filter(fresh);
    yield* unread;
    // The service may grant fewer items per page than were asked for: its own figure decides what a full page is.
    const full = items.length >= (resultInfo?.per_page ?? options.perPage);
    const pages = resultInfo?.total_pages ?? undefined;
    const more = pages === undefined ? full : page < pages;
    // Where the service counts its pages, the last one repeating what was read means that none was ever turned.
    const repeated = page > 1 && items.length > 0 && unread.length === 0;
    if (repeated && (more || pages !== undefined)) throw endless(options.what, path, "page");
    if (items.length === 0 || !more) return;
  }
}

/** All items of a list with cursors (facts 1.6): a page may be empty while a cursor remains. */
export async function* byCursor<T>(
  api: EdgeApi,
  path: string,
  options: ListOptions<T> & {
    /** Name of the page-size parameter. */ readonly sizeParameter?: "per_page" | "limit";
  },
): AsyncGenerator<T, void, undefined> {
  const fresh = unseen(options.key);
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (;;) {
    const { result, resultInfo } = await api.send("GET", path, {
      what: options.what,
      schema: z.array(options.schema).nullable(),
      query: { ...options.query, [options.sizeParameter ?? "per_page"]: options.perPage, cursor },
    });
    yield* (result ?? []).filter(fresh);
    cursor = resultInfo?.cursors?.after ?? resultInfo?.cursor ?? undefined;
    if (cursor === undefined || cursor === "") return;
    if (cursors.has(cursor)) throw endless(options.what, path, "cursor");
    cursors.add(cursor);
  }
}

function endless(what: string, path: string, repeated: "page" | "cursor"): ApiError {
  return new ApiError({
    what,
    method: "GET",
    path,
    status: 200,
    outcome: "notDone",
    detail: `the list gave the same ${repeated} twice, so it cannot be read to its end`,
    advice: "Run again; if it happens again, report it with the time of the request.",
  });
}

/** A filter that lets every key through once. */
function unseen<T>(key: (item: T) => string): (item: T) => boolean {
  const seen = new Set<string>();
  return (item) => {
    const id = key(item);
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  };
}
