import type { EdgeApi, ListOptions } from "./client";
import { ApiError } from "./errors";

export interface PagesOptions<T> extends Pick<ListOptions<T>, "what" | "record" | "query" | "complete"> {
  /** Items per request: the maximum that Cloudflare allows for this list. */
  readonly perPage: number;
  /** Returns an item's key, so that an item that moves to the next page during the read isn't returned twice. */
  readonly key: (item: T) => string;
}

/**
 * Yields all items of a list with `page` and `per_page`, keeping one page in memory at a time. If an item is deleted
 * from a page that was already read, another item moves to that page and is missed. If the API's count reveals that,
 * it's a warning or, with `complete`, an error.
 */
export async function* byPage<T>(
  api: EdgeApi,
  path: string,
  { perPage, key, ...list }: PagesOptions<T>,
): AsyncGenerator<T, void, undefined> {
  const isFirst = unseen(key);
  const isFirstText = unseen((text: string) => text);
  const totals: number[] = [];
  for (let page = 1; ; page += 1) {
    const query = { ...list.query, page, per_page: perPage };
    const { records, unread, resultInfo } = await api.list(path, { ...list, query });
    const onPage = records.filter(isFirst);
    const unreadOnPage = unread.filter(isFirstText);
    yield* onPage;
    if (typeof resultInfo?.total_count === "number") totals.push(resultInfo.total_count);
    const count = records.length + unread.length;
    // Cloudflare may return fewer items per page than requested, so its own number says what a full page is.
    const isFull = count >= (resultInfo?.per_page ?? perPage);
    const pages = resultInfo?.total_pages ?? undefined;
    const hasMore = pages === undefined ? isFull : page < pages;
    // If Cloudflare counts pages, a last page that repeats earlier items means that `page` was ignored.
    const isRepeated = page > 1 && count > 0 && onPage.length === 0 && unreadOnPage.length === 0;
    if (isRepeated && (hasMore || pages !== undefined)) throw endless(list.what, path, "page");
    if (count === 0 || !hasMore) break;
  }
  // The API's count may include items that the filters exclude, so only a change of it tells.
  if (!totals.some((each, index) => each < (totals[index - 1] ?? 0))) return;
  const detail = "items were deleted while the list was read, so some may be missing";
  if (list.complete === true) throw unreadable(list.what, path, detail, "Run the command again.");
  api.warn(`${list.what}: ${detail}. Run the command again.`);
}

/** Yields all items of a list with cursors. A page may be empty even if there's another cursor. */
export async function* byCursor<T>(
  api: EdgeApi,
  path: string,
  options: PagesOptions<T> & {
    /** The name of the query parameter for the page size. */
    readonly sizeParameter?: "per_page" | "limit";
  },
): AsyncGenerator<T, void, undefined> {
  const { perPage, key, sizeParameter = "per_page", ...list } = options;
  const isFirst = unseen(key);
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (;;) {
    const query = { ...options.query, [sizeParameter]: perPage, cursor };
    const { records, resultInfo } = await api.list(path, { ...list, query });
    yield* records.filter(isFirst);
    cursor = resultInfo?.cursors?.after ?? resultInfo?.cursor ?? undefined;
    if (cursor === undefined || cursor === "") return;
    if (cursors.has(cursor)) throw endless(options.what, path, "cursor");
    cursors.add(cursor);
  }
}

function endless(what: string, path: string, repeated: "page" | "cursor"): ApiError {
  return unreadable(
    what,
    path,
    `Cloudflare returned the same ${repeated} twice, so the list can't be read completely`,
    "Run the command again. If it happens again, report it with the time of the request.",
  );
}

function unreadable(what: string, path: string, detail: string, advice: string): ApiError {
  return new ApiError({ what, method: "GET", path, status: 200, outcome: "notDone", detail, advice });
}

/** Returns a function that returns true the first time it's called with a key, and false afterwards. */
function unseen<T>(key: (item: T) => string): (item: T) => boolean {
  const seen = new Set<string>();
  return (item) => {
    const id = key(item);
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  };
}
