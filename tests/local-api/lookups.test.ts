import { apiPerFile } from "../support/bench";
import { callerOf, each, idOf, result, start } from "./client";

const api = apiPerFile();
const documentedApi = apiPerFile({ dialect: "documented" });
const call = callerOf(api);
const SHOP = `/zones/${api.zones.shop}/page_shield`;

const EVERY = "page=all&status=active,infrequent,inactive&exclude_cdn_cgi=false&exclude_duplicates=false";
const list = async (kind: string, query: string, member = "url") =>
  each(await call("GET", `${SHOP}/${kind}?${query}`), member);

describe("a Page Shield list", () => {
  test("contains only active records unless the query asks for others", async () => {
    expect(new Set(await list("scripts", "page=all", "status"))).toEqual(new Set(["active"]));
    expect(await list("scripts", "status=infrequent,inactive", "status")).toHaveLength(3);
    expect(await list("connections", "status=infrequent")).toEqual(["https://beacon.experiments.example/v"]);
    expect(await list("cookies", "", "name")).not.toContain("ab_variant");
    expect(await list("cookies", "status=infrequent", "name")).toEqual(["ab_variant"]);
  });

  test("can be read page by page, without overlaps or gaps", async () => {
    const whole = await list("scripts", EVERY, "id");
    const pages: unknown[] = [];
    for (let page = 1; page <= 5; page++) {
      const response = await call(
        "GET",
        `${SHOP}/scripts?${EVERY.replace("page=all", `page=${page}&per_page=5`)}`,
      );
      const count = page < 5 ? 5 : 4;
      expect(response.body).toMatchObject({
        result_info: { page, per_page: 5, count, total_count: 24, total_pages: 5 },
      });
      pages.push(...each(response, "id"));
    }
    expect(pages).toEqual(whole);
    expect(new Set(pages).size).toBe(24);
  });

  test("has 20 records per page by default, 100 at most, and none after the last page", async () => {
    expect((await call("GET", `${SHOP}/scripts?status=active,infrequent`)).body).toMatchObject({
      result_info: { per_page: 20, count: 20 },
    });
    expect(await list("scripts", "page=9")).toEqual([]);
    for (const query of ["per_page=101", "per_page=0", "page=0", "page=x", "status=gone", "direction=up"]) {
      expect(await call("GET", `${SHOP}/scripts?${query}`)).toMatchObject({
        status: 400,
        body: { success: false, errors: [{ code: 10001 }] },
      });
    }
  });

  test("is sorted newest first, or as the query asks", async () => {
    const newestFirst = (await list("scripts", EVERY, "last_seen_at")).map(String);
    expect(newestFirst).toEqual([...newestFirst].sort().reverse());
    const oldestFirst = (
      await list("scripts", `${EVERY}&order_by=first_seen_at&direction=asc`, "first_seen_at")
    ).map(String);
    expect(oldestFirst).toEqual([...oldestFirst].sort());
  });

  test("can be filtered by host, with wildcards at either end", async () => {
    expect(new Set(await list("scripts", "hosts=checkout.shop.example", "host"))).toEqual(
      new Set(["checkout.shop.example"]),
    );
    expect(new Set(await list("scripts", "hosts=check*,*count.shop.example", "host"))).toEqual(
      new Set(["checkout.shop.example", "account.shop.example"]),
    );
    expect(await list("scripts", "hosts=*heckou*")).toHaveLength(7);
    expect(await list("scripts", "hosts=shop.example")).toEqual([]);
  });

  test("can be filtered by part of the URL", async () => {
    expect(await list("scripts", "urls=jquery,pay.js")).toHaveLength(2);
  });

  test("omits duplicates and /cdn-cgi/ URLs unless the query includes them", async () => {
    expect(await list("scripts", "urls=tag.js")).toHaveLength(1);
    expect(await list("scripts", "urls=tag.js&exclude_duplicates=false")).toHaveLength(2);
    expect(await list("scripts", "urls=/cdn-cgi/")).toEqual([]);
    expect(await list("scripts", "urls=/cdn-cgi/&exclude_cdn_cgi=false")).toHaveLength(1);
    expect(await list("connections", "urls=/cdn-cgi/&exclude_cdn_cgi=false")).toHaveLength(1);
  });

  test("starts with malicious records if the query asks for it", async () => {
    const scores = await list("scripts", "prioritize_malicious=true", "js_integrity_score");
    expect(new Set(scores.slice(0, 2))).toEqual(new Set([4, 32]));
    expect((await list("connections", "prioritize_malicious=true"))[0]).toBe(
      "https://stats-collect.example.com/x",
    );
  });

  test("can be filtered by a cookie's name", async () => {
    expect(await list("cookies", "name=*session*&secure=true", "name")).toHaveLength(2);
  });
});

describe("Page Shield records", () => {
  test("initially include two malicious active scripts and two without a score", async () => {
    const scores = await list("scripts", "page=all", "js_integrity_score");
    expect(scores.filter((score) => typeof score === "number" && score < 50)).toHaveLength(2);
    expect(scores.filter((score) => score === null)).toHaveLength(2);
  });

  test("have more properties if they're read by ID than in a list", async () => {
    const [id] = await list("scripts", "urls=pay.js", "id");
    const listed = await call("GET", `${SHOP}/scripts?urls=pay.js`);
    expect(each(listed, "versions")).toEqual([undefined]);
    expect(each(listed, "page_urls")).toEqual([undefined]);
    expect(result(await call("GET", `${SHOP}/scripts/${String(id)}`))).toMatchObject({
      page_urls: ["checkout.shop.example/payment"],
      versions: [{ js_integrity_score: 96 }, { js_integrity_score: 96 }],
    });
  });

  test("omit properties that a lower plan doesn't include", async () => {
    const [id] = each(await call("GET", `/zones/${api.zones.small}/page_shield/scripts`), "id");
    const script = await call("GET", `/zones/${api.zones.small}/page_shield/scripts/${String(id)}`);
    expect(Object.keys(result(script)).sort()).toEqual(
      [
        "added_at",
        "first_seen_at",
        "host",
        "id",
        "last_seen_at",
        "status",
        "url",
        "url_contains_cdn_cgi_path",
      ].sort(),
    );
    for (const kind of ["connections", "cookies"]) {
      expect(await call("GET", `/zones/${api.zones.small}/page_shield/${kind}`)).toMatchObject({
        status: 403,
      });
    }
  });

  test("have fewer properties in the dialect of Cloudflare's guides, where a cookie's max age may be null", async () => {
    const inSeed = callerOf(documentedApi);
    const scripts = await inSeed("GET", `${SHOP}/scripts?page=all`);
    expect(each(scripts, "magecart_score").every((value) => value === undefined)).toBe(true);
    expect(each(scripts, "js_integrity_score")).not.toContain(null);
    const detail = await inSeed("GET", `${SHOP}/scripts/${String(each(scripts, "id")[0])}`);
    expect(result(detail)["versions"]).toMatchObject([{}, {}]);
    expect(Object.keys((result(detail)["versions"] as object[])[0] ?? {})).toEqual([
      "hash",
      "js_integrity_score",
      "fetched_at",
    ]);

    const ages = each(await inSeed("GET", `${SHOP}/cookies`), "max_age_attribute");
    expect(ages).toContain(null);
    expect(await list("cookies", "", "max_age_attribute")).not.toContain(null);
    const [connection] = each(await inSeed("GET", `${SHOP}/connections`), "id");
    expect(await inSeed("GET", `${SHOP}/connections/${String(connection)}`)).not.toHaveProperty(
      "body.result.page_urls",
    );
    expect(await call("GET", `${SHOP}/connections/${String(connection)}`)).toHaveProperty(
      "body.result.page_urls",
    );
  });

  test("have the same IDs at every start", async () => {
    const again = await start();
    expect(each(await callerOf(again)("GET", `${SHOP}/scripts?${EVERY}`), "id")).toEqual(
      await list("scripts", EVERY, "id"),
    );
  });
});

test("if a script's score drops, the script gets a new version, which comes first", async () => {
  const [id] = await list("scripts", "urls=banner.js", "id");
  api.detect(api.zones.shop, { scripts: [{ id: String(id), js_integrity_score: 7 }] });
  const detail = await call(
    "GET",
    `${SHOP}/scripts/${idOf(await call("GET", `${SHOP}/scripts/${String(id)}`))}`,
  );
  expect(result(detail)).toMatchObject({
    js_integrity_score: 7,
    versions: [{ js_integrity_score: 7 }, { js_integrity_score: 88 }, { js_integrity_score: 88 }],
  });
});
