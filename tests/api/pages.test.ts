import { startLocalApi } from "edgeguard-local";
import { z } from "zod";
import { byCursor, byPage } from "../../provider/api/pages";
import { clientOf, envelope, failureOf, serve, type Throwaway } from "../support/edge-client";

const item = z.object({ id: z.string() });
const list = { what: "Listing", record: item, key: ({ id }: z.infer<typeof item>) => id };
const items = (...ids: string[]) => ids.map((id) => ({ id }));

let server: Throwaway;

/** Answers one body per request; the last one for all that follow. */
async function answering(...bodies: string[]): Promise<void> {
  let next = 0;
  server = await serve((_request, response) => {
    response.end(bodies[Math.min(next, bodies.length - 1)]);
    next += 1;
  });
}

async function ids(found: AsyncGenerator<{ id: string }>): Promise<string> {
  let text = "";
  for await (const { id } of found) text += id;
  return text;
}

const pages = (perPage: number) => byPage(clientOf(server.url).client, "/list", { ...list, perPage });
const cursors = (more: { sizeParameter?: "limit" } = {}) =>
  byCursor(clientOf(server.url).client, "/list", { ...list, perPage: 2, ...more });

describe("paging by number", () => {
  test("reads as many pages as Cloudflare's count implies", async () => {
    await answering(
      envelope(items("a", "b"), { result_info: { page: 1, per_page: 2, total_pages: 2 } }),
      envelope(items("c", "d"), { result_info: { page: 2, per_page: 2, total_pages: 2 } }),
    );
    expect(await ids(pages(2))).toBe("abcd");
    expect(server.seen).toEqual(["GET /list?page=1&per_page=2", "GET /list?page=2&per_page=2"]);
  });

  test("without a count, reads until a page isn't full", async () => {
    await answering(envelope(items("a", "b")), envelope(items("c")));
    expect(await ids(pages(2))).toBe("abc");
    expect(server.seen).toHaveLength(2);
  });

  test("continues if Cloudflare returns fewer items per page than requested", async () => {
    await answering(
      envelope(items("a", "b"), { result_info: { per_page: 2 } }),
      envelope(items("c"), { result_info: { per_page: 2 } }),
    );
    expect(await ids(pages(100))).toBe("abc");
  });

  test("returns an item once even if it moved to the next page", async () => {
    await answering(envelope(items("a", "b")), envelope(items("b", "c")), envelope([]));
    expect(await ids(pages(2))).toBe("abc");
    expect(server.seen).toHaveLength(3);
  });

  test("reads null as an empty list, even if the paging information is null", async () => {
    await answering(envelope(null, { result_info: { page: null, total_pages: null } }));
    expect(await ids(pages(2))).toBe("");
    expect(server.seen).toHaveLength(1);
  });

  test("stops if the API keeps returning the same page", async () => {
    await answering(envelope(items("a", "b")));
    expect((await failureOf(ids(pages(2)))).message).toContain("Cloudflare returned the same page twice");
    expect(server.seen).toHaveLength(2);
  });

  test.each([2, 3])("refuses a list of %i pages that returns the first page every time", async (n) => {
    await answering(envelope(items("a", "b"), { result_info: { page: 1, per_page: 2, total_pages: n } }));
    expect((await failureOf(ids(pages(2)))).message).toContain("Cloudflare returned the same page twice");
    expect(server.seen).toHaveLength(2);
  });

  test("without a count, accepts a last page whose items were all on earlier pages", async () => {
    await answering(envelope(items("a", "b")), envelope(items("b")));
    expect(await ids(pages(2))).toBe("ab");
  });

  test("reads no more pages than the caller needs", async () => {
    await answering(envelope(items("a", "b")), envelope(items("c", "d")));
    for await (const { id } of pages(2)) if (id === "b") break;
    expect(server.seen).toHaveLength(1);
  });

  describe("when the list changes during the read", () => {
    const page = (total: number, pages: number, ...found: string[]) =>
      envelope(items(...found), { result_info: { per_page: 2, total_count: total, total_pages: pages } });
    const read = async () => {
      const { client, warnings } = clientOf(server.url);
      return { ids: await ids(byPage(client, "/list", { ...list, perPage: 2 })), warnings };
    };

    test("accepts a list to which items were only added, and a count that includes what filters exclude", async () => {
      await answering(page(3, 2, "a", "b"), page(4, 2, "c", "d"));
      expect(await read()).toEqual({ ids: "abcd", warnings: [] });
      await answering(page(9, 2, "a", "b"), page(9, 2, "c"));
      expect(await read()).toEqual({ ids: "abc", warnings: [] });
      expect(server.seen).toHaveLength(2);
    });

    test("reads the list once, and warns that items may be missing if some were deleted", async () => {
      // a is deleted: c slides to the first page.
      await answering(page(5, 3, "a", "b"), page(4, 2, "d", "e"));
      expect(await read()).toEqual({
        ids: "abde",
        warnings: [
          "Listing: items were deleted while the list was read, so some may be missing. Run the command again.",
        ],
      });
      expect(server.seen).toHaveLength(2);
    });

    test("fails instead if the list must be complete", async () => {
      await answering(page(5, 3, "a", "b"), page(4, 2, "d", "e"));
      const { client, warnings } = clientOf(server.url);
      const complete = byPage(client, "/list", { ...list, perPage: 2, complete: true });
      expect((await failureOf(ids(complete))).message).toContain(
        "items were deleted while the list was read",
      );
      expect(warnings).toEqual([]);
    });
  });

  test("reads every script of a zone, whatever the page size", async () => {
    const api = await startLocalApi();
    const all = (perPage: number) =>
      ids(
        byPage(clientOf(api.url).client, `/zones/${api.zones.shop}/page_shield/scripts`, {
          ...list,
          perPage,
        }),
      );
    const whole = await all(100);
    const inOne = api.requests.length;
    expect(await all(3)).toBe(whole);
    expect(inOne).toBe(1);
    expect(api.requests.length - inOne).toBe(Math.ceil(whole.length / 32 / 3));
    await api.close();
  });
});

describe("paging by cursor", () => {
  const page = (cursor: string | null | undefined, ...found: string[]) =>
    envelope(items(...found), { result_info: { cursors: { after: cursor } } });

  test("follows the cursor to the last page, whichever member of the response contains it", async () => {
    await answering(
      page("one", "a", "b"),
      envelope(items("c"), { result_info: { cursor: "two" } }),
      envelope(items("d"), { result_info: { cursor: "" } }),
    );
    expect(await ids(cursors())).toBe("abcd");
    expect(server.seen).toEqual([
      "GET /list?per_page=2",
      "GET /list?per_page=2&cursor=one",
      "GET /list?per_page=2&cursor=two",
    ]);
  });

  test("continues after an empty page that has a cursor", async () => {
    await answering(page("one"), page(null, "a"));
    expect(await ids(cursors({ sizeParameter: "limit" }))).toBe("a");
    expect(server.seen).toEqual(["GET /list?limit=2", "GET /list?limit=2&cursor=one"]);
  });

  test("drops an item that appears twice", async () => {
    await answering(page("one", "a", "b"), page(undefined, "b", "c"));
    expect(await ids(cursors())).toBe("abc");
  });

  test("refuses a cursor that repeats, because the list would never end", async () => {
    await answering(page("one", "a"), page("two", "b"), page("one", "c"));
    expect((await failureOf(ids(cursors()))).message).toContain("Cloudflare returned the same cursor twice");
    expect(server.seen).toHaveLength(3);
  });
});
