import type { EdgeApi, ListOptions } from "./client";
import { ApiError } from "./errors";

export interface PagesOptions<T> extends Pick<ListOptions<T>, "what" | "record" | "query" | "complete"> {
  /** Items per request; the most that Cloudflare gives of this list. */
  readonly perPage: number;
  /** What makes an item itself, to pass over one that slid to the next page while we read. */
  readonly key: (item: T) => string;
}

/** How often a list that changes while it is read is read from its beginning. */
const MAX_PASSES = 3;

/**
 * All items of a list with `page` and `per_page`, one page in memory at a time. An item that leaves a page already read
 * pulls another one there, unseen: where the API's count tells of that, the list is read again for what was missed.
 */
export async function* byPage<T>(
  api: EdgeApi,
  path: string,
  options: PagesOptions<T>,
): AsyncGenerator<T, void, undefined> {
  const fresh = unseen(options.key);
  for (let pass = 1; ; pass += 1) {
    const { isWhole, news, read, counted } = yield* onePass(api, path, options, fresh);
    // A count that another pass cannot explain counts something else, such as what the filters leave out.
    if (isWhole || (pass > 1 && news === 0)) return;
    if (pass < MAX_PASSES) continue;
    api.warn(
      `${options.what}: the list kept changing while it was read ${MAX_PASSES} times. ${read} records were read, Cloudflare counts ${counted}: some may be missing. Run again.`,
    );
    return;
  }
}

interface Pass {
  readonly isWhole: boolean;
  /** Items that no earlier pass had. */
  readonly news: number;
  readonly read: number;
  readonly counted: number;
}

/** The list from its first page to its last. */
async function* onePass<T>(
  api: EdgeApi,
  path: string,
  { perPage, key, ...list }: PagesOptions<T>,
  isNew: (item: T) => boolean,
): AsyncGenerator<T, Pass, undefined> {
  const fresh = unseen(key);
  const freshText = unseen((text: string) => text);
  const totals: number[] = [];
  let [read, news] = [0, 0];
  for (let page = 1; ; page += 1) {
    const query = { ...list.query, page, per_page: perPage };
    const { records, unread, resultInfo } = await api.list(path, { ...list, query });
    const turned = records.filter(fresh);
    const turnedUnread = unread.filter(freshText);
    const missed = turned.filter(isNew);
    yield* missed;
    news += missed.length;
    read += turned.length + turnedUnread.length;
    if (typeof resultInfo?.total_count === "number") totals.push(resultInfo.total_count);
    const count = records.length + unread.length;
    // Cloudflare may grant fewer items per page than were asked for: its own figure decides what a full page is.
    const full = count >= (resultInfo?.per_page ?? perPage);
    const pages = resultInfo?.total_pages ?? undefined;
    const more = pages === undefined ? full : page < pages;
    // Where Cloudflare counts its pages, the last one repeating what was read means that none was ever turned.
    const repeated = page > 1 && count > 0 && turned.length === 0 && turnedUnread.length === 0;
    if (repeated && (more || pages !== undefined)) throw endless(list.what, path, "page");
    if (count > 0 && more) continue;
    const counted = totals.at(-1) ?? read;
    const shrank = totals.some((total, index) => total < (totals[index - 1] ?? 0));
    return { isWhole: page === 1 || (counted === read && !shrank), news, read, counted };
  }
}

/** All items of a list with cursors: a page may be empty while a cursor remains. */
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
