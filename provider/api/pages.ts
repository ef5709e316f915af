import type { EdgeApi, ListOptions } from "./client";
import { ApiError } from "./errors";

export interface PagesOptions<T> extends Pick<ListOptions<T>, "what" | "record" | "query" | "complete"> {
  /** Items per request; the most that Cloudflare gives of this list. */
  readonly perPage: number;
  /** What makes an item itself, to pass over one that slid to the next page while we read. */
  readonly key: (item: T) => string;
}

/** All items of a list with `page` and `per_page` (facts 1.6), one page in memory at a time. */
export async function* byPage<T>(
  api: EdgeApi,
  path: string,
  options: PagesOptions<T>,
): AsyncGenerator<T, void, undefined> {
  const { perPage, key, ...list } = options;
  const fresh = unseen(key);
  const freshText = unseen((text: string) => text);
  for (let page = 1; ; page += 1) {
    const query = { ...options.query, page, per_page: perPage };
    const { records, unread, resultInfo } = await api.list(path, { ...list, query });
    const news = records.filter(fresh);
    yield* news;
    const newUnread = unread.filter(freshText);
    const count = records.length + unread.length;
    // The service may grant fewer items per page than were asked for: its own figure decides what a full page is.
    const full = count >= (resultInfo?.per_page ?? perPage);
    const pages = resultInfo?.total_pages ?? undefined;
    const more = pages === undefined ? full : page < pages;
    // Where the service counts its pages, the last one repeating what was read means that none was ever turned.
    const repeated = page > 1 && count > 0 && news.length === 0 && newUnread.length === 0;
    if (repeated && (more || pages !== undefined)) throw endless(options.what, path, "page");
    if (count === 0 || !more) return;
  }
}

/** All items of a list with cursors (facts 1.6): a page may be empty while a cursor remains. */
export async function* byCursor<T>(
  api: EdgeApi,
  path: string,
  options: PagesOptions<T> & {
    /** Name of the page-size parameter. */ readonly sizeParameter?: "per_page" | "limit";
  },
): AsyncGenerator<T, void, undefined> {
  const { perPage, key, sizeParameter = "per_page", ...list } = options;
  const fresh = unseen(key);
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (;;) {
    const query = { ...options.query, [sizeParameter]: perPage, cursor };
    const { records, resultInfo } = await api.list(path, { ...list, query });
    yield* records.filter(fresh);
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
