import type { EdgeApi, ListOptions } from "./client";
import { ApiError } from "./errors";

export interface PagesOptions<T> extends Pick<ListOptions<T>, "what" | "record" | "query" | "complete"> {
  /** Items per request: the maximum that Cloudflare allows for this list. */
  readonly perPage: number;
  /** Returns an item's key, so that an item that moves to the next page during the read isn't returned twice. */
  readonly key: (item: T) => string;
}

/** How many times a list is read from its beginning if it changes during the read. */
const MAX_PASSES = 3;

/**
 * Yields all items of a list with `page` and `per_page`, keeping one page in memory at a time. If an item is deleted
 * from a page that was already read, another item moves to that page and is missed. If the API's count reveals that,
 * the list is read again for the missing items. If it never stops changing, that's a warning or, with `complete`, an
 * error.
 */
export async function* byPage<T>(
  api: EdgeApi,
  path: string,
  options: PagesOptions<T>,
): AsyncGenerator<T, void, undefined> {
  const isNew = unseen(options.key);
  for (let pass = 1; ; pass += 1) {
    const { isComplete, added, read, total } = yield* onePass(api, path, options, isNew);
    // If another pass finds nothing new, the API counts something else, such as items that the filters exclude.
    if (isComplete || (pass > 1 && added === 0)) return;
    if (pass < MAX_PASSES) continue;
    const detail = `the list changed during each of ${MAX_PASSES} reads. ${read === 1 ? "1 record was" : `${read} records were`} read, but Cloudflare counts ${total}: some may be missing`;
    if (options.complete === true) throw unreadable(options.what, path, detail, "Run the command again.");
    api.warn(`${options.what}: ${detail}. Run the command again.`);
    return;
  }
}

interface Pass {
  readonly isComplete: boolean;
  /** How many items this pass found that earlier passes missed. */
  readonly added: number;
  readonly read: number;
  /** The number of items according to the API. */
  readonly total: number;
}

/** Reads the list from its first page to its last. */
async function* onePass<T>(
  api: EdgeApi,
  path: string,
  { perPage, key, ...list }: PagesOptions<T>,
  isNew: (item: T) => boolean,
): AsyncGenerator<T, Pass, undefined> {
  const isFirst = unseen(key);
  const isFirstText = unseen((text: string) => text);
  const totals: number[] = [];
  let [read, added] = [0, 0];
  for (let page = 1; ; page += 1) {
    const query = { ...list.query, page, per_page: perPage };
    const { records, unread, resultInfo } = await api.list(path, { ...list, query });
    const onPage = records.filter(isFirst);
    const unreadOnPage = unread.filter(isFirstText);
    const missed = onPage.filter(isNew);
    yield* missed;
    added += missed.length;
    read += onPage.length + unreadOnPage.length;
    if (typeof resultInfo?.total_count === "number") totals.push(resultInfo.total_count);
    const count = records.length + unread.length;
    // Cloudflare may return fewer items per page than requested, so its own number says what a full page is.
    const isFull = count >= (resultInfo?.per_page ?? perPage);
    const pages = resultInfo?.total_pages ?? undefined;
    const hasMore = pages === undefined ? isFull : page < pages;
    // If Cloudflare counts pages, a last page that repeats earlier items means that `page` was ignored.
    const isRepeated = page > 1 && count > 0 && onPage.length === 0 && unreadOnPage.length === 0;
    if (isRepeated && (hasMore || pages !== undefined)) throw endless(list.what, path, "page");
    if (count > 0 && hasMore) continue;
    const total = totals.at(-1) ?? read;
    const shrank = totals.some((each, index) => each < (totals[index - 1] ?? 0));
    return { isComplete: page === 1 || (total === read && !shrank), added, read, total };
  }
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
