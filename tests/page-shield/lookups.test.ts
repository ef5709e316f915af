import { startLocalApi, type LocalApi } from "edgeguard-local";
import {
  getConnection,
  getConnections,
  getCookie,
  getCookies,
  getPageShieldPolicies,
  getPageShieldPolicy,
  getPageShieldSettings,
  getScript,
  getScripts,
  type LookupOptions,
} from "pulumi-edgeguard";
import { answerWith, zones } from "../support/bench";
import { envelope, serve, through } from "../support/edge-client";
import { Operation, rawGet } from "../support/operation";

describe.each(["documented", "openapi"] as const)("a lookup (API dialect: %s)", (dialect) => {
  let api: LocalApi;
  let opts: LookupOptions;
  let shop: string;

  beforeAll(async () => {
    api = await startLocalApi({ dialect });
    opts = { config: { baseUrl: api.url, apiToken: "local-token" } };
    shop = api.zones.shop;
  });
  afterAll(() => api.close());
  beforeEach(() => {
    api.reset();
    api.clearRequests();
  });

  test("reads the reporting setting under either of its API names", async () => {
    expect(await getPageShieldSettings({ zoneId: shop }, opts)).toEqual({
      enabled: true,
      updatedAt: "2026-06-03T08:00:00.000000Z",
      useReportingEndpoint: true,
      useConnectionUrlPath: false,
    });
  });

  test("reads policies with enabled as a boolean, and one policy by its ID", async () => {
    const policies = await getPageShieldPolicies({ zoneId: shop }, opts);
    expect(policies).toHaveLength(1);
    expect(policies[0]).toMatchObject({ action: "log", enabled: true });
    expect(await getPageShieldPolicy({ zoneId: shop, policyId: policies[0]?.id ?? "" }, opts)).toEqual(
      policies[0],
    );
  });

  test("returns unknown response fields in extra, and omits extra if there are none", async () => {
    const snapshot = api.snapshot();
    const zone = snapshot.pageShield[shop];
    if (zone?.policies[0] === undefined) throw new Error("the seeded zone has a policy");
    zone.policies[0].further["reviewed_by"] = ["sec"];
    api.restore(snapshot);
    const [policy] = await getPageShieldPolicies({ zoneId: shop }, opts);
    expect(policy?.extra).toEqual({ reviewed_by: ["sec"] });
    const { items } = await getScripts({ zoneId: shop }, opts);
    expect(items.filter((script) => "extra" in script)).toEqual([]);
  });

  test("lists active scripts unless status is set, and sends no status by default", async () => {
    const active = await getScripts({ zoneId: shop }, opts);
    expect(new Set(active.items.map(({ status }) => status))).toEqual(new Set(["active"]));
    const others = await getScripts({ zoneId: shop, status: ["infrequent", "inactive"] }, opts);
    expect(others.items.map(({ url }) => url).sort()).toEqual([
      "https://cdn.extension-helper.example/inject.js",
      "https://old-cdn.shop.example/legacy.js",
      "https://try.experiments.example/ab.js",
    ]);
    expect(api.requests.map(({ query }) => query["status"])).toEqual([undefined, "infrequent,inactive"]);
  });

  test("sends status for cookies only if it's set", async () => {
    await getCookies({ zoneId: shop }, opts);
    const { items } = await getCookies({ zoneId: shop, status: "infrequent" }, opts);
    expect(items.map(({ name }) => name)).toEqual(["ab_variant"]);
    expect(api.requests.map(({ query }) => query)).toEqual([
      { page: "1", per_page: "100", order_by: "first_seen_at", direction: "asc" },
      { page: "1", per_page: "100", order_by: "first_seen_at", direction: "asc", status: "infrequent" },
    ]);
  });

  test("filters by one or more hosts", async () => {
    const hosts = ["checkout.shop.example", "account.*"];
    const { items } = await getConnections({ zoneId: shop, hosts }, opts);
    expect(new Set(items.map(({ host }) => host))).toEqual(
      new Set(["checkout.shop.example", "account.shop.example"]),
    );
    await getConnections({ zoneId: shop, hosts: "www.shop.example" }, opts);
    expect(api.requests.map(({ query }) => query["hosts"])).toEqual([
      "checkout.shop.example,account.*",
      "www.shop.example",
    ]);
  });

  test("sends other filters under their API names", async () => {
    const filters = { exclude_cdn_cgi: false, urls: ["cdn-cgi", "nothing"], tomorrow: 7 };
    const { items } = await getScripts({ zoneId: shop, filters }, opts);
    expect(items.map(({ urlContainsCdnCgiPath }) => urlContainsCdnCgiPath)).toEqual([true]);
    expect(api.requests[0]?.query).toMatchObject({
      exclude_cdn_cgi: "false",
      urls: "cdn-cgi,nothing",
      tomorrow: "7",
    });
  });

  test("reads all pages, and returns each detection once", async () => {
    const urls = Array.from({ length: 205 }, (_, i) => `https://many.example/${i}.js`);
    api.detect(api.zones.empty, { scripts: urls.map((url) => ({ url })) });
    const list = await getScripts({ zoneId: api.zones.empty }, opts);
    expect(list.items.map(({ url }) => url).sort()).toEqual([...urls].sort());
    expect(api.requests.map(({ query }) => query["page"])).toEqual(["1", "2", "3"]);
  });

  describe("of a detection that's seen again between two page requests", () => {
    const urls = Array.from({ length: 205 }, (_, i) => `https://many.example/${i}.js`);
    const days = (index: number): string => new Date(Date.UTC(2026, 0, 1) + index * 86_400_000).toISOString();
    const times = (i: number) => ({ first_seen_at: days(i), last_seen_at: days(i) });

    /** Sorted by time last seen, the oldest record would jump from the last page to the first. */
    async function seenAgainDuringListing(
      kind: "scripts" | "connections" | "cookies",
    ): Promise<LookupOptions> {
      const records = urls.map((url, i) => ({
        ...(kind === "cookies" ? { name: url } : { url }),
        ...times(i),
      }));
      api.detect(api.zones.blog, { [kind]: records }, "replace");
      const { result } = await rawGet(
        api,
        `/zones/${api.zones.blog}/page_shield/${kind}?page=3&per_page=100`,
      );
      const oldest = (result as { id: string }[]).at(-1);
      const proxy = await through(api, (_method, url) => {
        if (/[?&]page=1&/.test(url))
          api.detect(api.zones.blog, { [kind]: [{ id: oldest?.id ?? "", last_seen_at: days(400) }] });
        return undefined;
      });
      return { config: { baseUrl: proxy.url, apiToken: "local-token" } };
    }

    test("still returns a script", async () => {
      const proxied = await seenAgainDuringListing("scripts");
      const { items } = await getScripts({ zoneId: api.zones.blog }, proxied);
      expect(items.map(({ url }) => url)).toEqual(urls);
    });

    test("still returns a connection", async () => {
      const { items } = await getConnections(
        { zoneId: api.zones.blog },
        await seenAgainDuringListing("connections"),
      );
      expect(items.map(({ url }) => url)).toEqual(urls);
    });

    test("still returns a cookie", async () => {
      const { items } = await getCookies({ zoneId: api.zones.blog }, await seenAgainDuringListing("cookies"));
      expect(items.map(({ name }) => name)).toEqual(urls);
    });

    test("still counts a script in the preview of an enforced policy", async () => {
      const proxied = await seenAgainDuringListing("scripts");
      const op = new Operation({ url: proxied.config?.["baseUrl"] ?? "" });
      const { inputs } = await op.preview("PageShieldPolicy", {
        zoneId: api.zones.blog,
        description: "Checkout",
        action: "allow",
        expression: "true",
        value: "script-src 'none'",
      });
      expect(inputs["impact"]).toMatchObject({ wouldBlock: { scripts: { count: 205 } } });
    });
  });

  test("returns the pages and versions of a script only if it's read by ID", async () => {
    const { items } = await getScripts({ zoneId: shop, filters: { urls: "pay.js" } }, opts);
    const [listed] = items;
    expect(listed).not.toHaveProperty("pageUrls");
    expect(listed).not.toHaveProperty("versions");
    const detail = await getScript({ zoneId: shop, scriptId: listed?.id ?? "" }, opts);
    expect(detail).toMatchObject({ ...listed, pageUrls: ["checkout.shop.example/payment"] });
    expect(detail.versions).toHaveLength(2);
    expect(detail.versions?.[0]).toMatchObject({
      hash: listed?.hash,
      jsIntegrityScore: 96,
      fetchedAt: listed?.fetchedAt,
    });
    expect(detail.versions?.[0]?.malwareScore).toBe(dialect === "documented" ? undefined : 96);
  });

  test("returns the pages of a connection if the API does", async () => {
    const { items } = await getConnections({ zoneId: shop, filters: { urls: "intents" } }, opts);
    const detail = await getConnection({ zoneId: shop, connectionId: items[0]?.id ?? "" }, opts);
    expect(detail).toEqual(
      dialect === "documented" ? items[0] : { ...items[0], pageUrls: ["checkout.shop.example/payment"] },
    );
  });

  test("reads a cookie with all its attributes, and keeps a max age of null", async () => {
    const { items } = await getCookies({ zoneId: shop, filters: { name: "checkout_session" } }, opts);
    const cookie = await getCookie({ zoneId: shop, cookieId: items[0]?.id ?? "" }, opts);
    expect(cookie).toMatchObject({
      type: "first_party",
      httpOnlyAttribute: true,
      secureAttribute: true,
      sameSiteAttribute: "strict",
      pathAttribute: "/payment",
      firstPageUrl: "checkout.shop.example/payment",
    });
    // Cloudflare's guides show null; the OpenAPI document doesn't allow it.
    expect("maxAgeAttribute" in cookie).toBe(dialect === "documented");
    expect(cookie.maxAgeAttribute ?? null).toBeNull();
  });

  test("omits properties that the plan doesn't include, and scores that are null", async () => {
    const { items } = await getScripts({ zoneId: api.zones.small }, opts);
    expect(Object.keys(items[0] ?? {}).sort()).toEqual([
      "addedAt",
      "firstSeenAt",
      "host",
      "id",
      "lastSeenAt",
      "status",
      "url",
      "urlContainsCdnCgiPath",
    ]);
    const shopped = await getScripts({ zoneId: shop, filters: { urls: "gsi/client.js" } }, opts);
    expect(shopped.items[0]).toHaveProperty("hash");
    expect(shopped.items[0]).not.toHaveProperty("jsIntegrityScore");
  });

  test("accepts undocumented values of status, type and same_site", async () => {
    const answer = (members: object): void => answerWith(api, {}, { id: "a", host: "h", ...members });
    answer({ url: "https://a.example/a.js", status: "quarantined" });
    expect((await getScript({ zoneId: shop, scriptId: shop }, opts)).status).toBe("quarantined");
    answer({ name: "c", type: "third_party", same_site_attribute: "lenient" });
    expect(await getCookie({ zoneId: shop, cookieId: shop }, opts)).toEqual({
      id: "a",
      host: "h",
      name: "c",
      type: "third_party",
      sameSiteAttribute: "lenient",
    });
  });

  test("fails with the request and its status if the zone has no such object or the plan doesn't include it", async () => {
    await expect(getScript({ zoneId: shop, scriptId: "0".repeat(32) }, opts)).rejects.toThrow(
      `Reading script ${"0".repeat(32)} in zone ${shop} failed: GET /zones/${shop}/page_shield/scripts/${"0".repeat(32)} returned 404 Not Found`,
    );
    await expect(getConnections({ zoneId: api.zones.small }, opts)).rejects.toThrow(
      /Listing the connections in zone \w+ failed: .* returned 403 Forbidden/,
    );
  });

  test.each([
    [{ zoneId: "shop" }, 'zoneId: "shop" is not a zone ID (32 hex digits): it has 4 characters'],
    [{}, "zoneId: is required"],
    [{ page: 2 }, 'unknown argument "page"'],
    [{ perPage: 20 }, 'unknown argument "perPage"'],
    [{ filters: { page: 2 } }, "filters.page: is not supported, because all pages are read. Remove it"],
    [
      { hosts: [] },
      "hosts: must be a string or a list with at least one item (omit it for the default), not an empty list.",
    ],
    [
      { status: "" },
      'status: must be a string or a list with at least one item (omit it for the default), not "".',
    ],
    [{ filters: { per_page: 5 } }, "filters.per_page: is not supported, because all pages are read"],
    [{ filters: { export: "csv" } }, "filters.export: is not supported"],
    [{ filters: { order_by: "last_seen_at" } }, "oldest detection first. Sort the result"],
    [
      { filters: { urls: null } },
      "filters.urls: must be a string, a number, true, false or a list of strings, not null",
    ],
    [{ host: "www.shop.example" }, 'unknown argument "host". Did you mean "hosts"?'],
  ])("rejects %j before it sends a request", async (wrong, sentence) => {
    const args = "zoneId" in wrong || Object.keys(wrong).length === 0 ? wrong : { zoneId: shop, ...wrong };
    // @ts-expect-error -- as a JavaScript program might
    const lookup = getScripts(args, opts);
    await expect(lookup).rejects.toThrow(/^getScripts: /);
    await expect(lookup).rejects.toThrow(sentence);
    expect(api.requests).toEqual([]);
  });

  test("rejects an invalid ID before it sends a request", async () => {
    await expect(getCookie({ zoneId: shop, cookieId: "../policies" }, opts)).rejects.toThrow(
      /^getCookie: cookieId: "..\/policies" is not a cookie ID \(32 hex digits\): it has 11 characters, not all of them hex digits\. Find it with getCookies\.$/,
    );
    expect(api.requests).toEqual([]);
  });

  test("requires credentials, and ignores the environment if config is given", async () => {
    process.env["CLOUDFLARE_API_TOKEN"] = "local-token";
    try {
      await expect(getScripts({ zoneId: shop }, { config: { baseUrl: api.url } })).rejects.toThrow(
        /^Listing the scripts in zone \w+ needs credentials, and none are set/,
      );
    } finally {
      delete process.env["CLOUDFLARE_API_TOKEN"];
    }
    expect(api.requests).toEqual([]);
  });
});

describe("a lookup of a detection with every field set", () => {
  /** The members under their names in programs. */
  const renamed = (members: object): object =>
    Object.fromEntries(
      Object.entries(members).map(([name, value]: [string, unknown]) => [
        name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
        value,
      ]),
    );
  const content = (seed: number) => ({
    hash: String(seed).repeat(64).slice(0, 64),
    js_integrity_score: seed + 1,
    obfuscation_score: seed + 2,
    dataflow_score: seed + 3,
    cryptomining_score: seed + 4,
    magecart_score: seed + 5,
    malware_score: seed + 6,
    fetched_at: `2026-01-0${seed}T00:00:01Z`,
  });
  const seen = {
    id: "a".repeat(32),
    url: "https://a.example/x.js",
    host: "www.a.example",
    added_at: "2026-01-01T00:00:01Z",
    first_seen_at: "2026-01-01T00:00:02Z",
    last_seen_at: "2026-01-01T00:00:03Z",
    domain_reported_malicious: true,
    malicious_domain_categories: ["Malware"],
    url_reported_malicious: false,
    malicious_url_categories: ["Phishing"],
    first_page_url: "www.a.example/cart",
    status: "active",
    url_contains_cdn_cgi_path: true,
    page_urls: ["www.a.example/cart", "www.a.example/pay"],
  };
  const cookie = (flags: { http_only_attribute: boolean; secure_attribute: boolean }) => ({
    id: "c".repeat(32),
    name: "session",
    host: "www.a.example",
    type: "first_party",
    domain_attribute: "a.example",
    expires_attribute: "2027-01-01T00:00:00Z",
    max_age_attribute: 3600,
    path_attribute: "/account",
    same_site_attribute: "strict",
    first_seen_at: "2026-01-01T00:00:02Z",
    last_seen_at: "2026-01-01T00:00:03Z",
    first_page_url: "www.a.example/login",
    page_urls: ["www.a.example/login"],
    status: "infrequent",
    ...flags,
  });
  const from = async (result: unknown): Promise<LookupOptions> => ({
    config: {
      baseUrl: (await serve((_, response) => void response.end(envelope(result)))).url,
      apiToken: "local-token",
    },
  });
  const zoneId = "d".repeat(32);

  test("returns every field of a script and its versions under its own name", async () => {
    const opts = await from({ ...seen, ...content(1), versions: [content(2), content(3)] });
    expect(await getScript({ zoneId, scriptId: seen.id }, opts)).toEqual({
      ...renamed({ ...seen, ...content(1) }),
      versions: [renamed(content(2)), renamed(content(3))],
    });
  });

  test("returns every field of a connection under its own name", async () => {
    const opts = await from(seen);
    expect(await getConnection({ zoneId, connectionId: seen.id }, opts)).toEqual(renamed(seen));
  });

  test.each([
    { http_only_attribute: true, secure_attribute: false },
    { http_only_attribute: false, secure_attribute: true },
  ])("returns every field of a cookie under its own name: %j", async (flags) => {
    const opts = await from(cookie(flags));
    expect(await getCookie({ zoneId, cookieId: "c".repeat(32) }, opts)).toEqual(renamed(cookie(flags)));
  });
});

test("a lookup refuses more detections than fit into memory, and says which filters to set", async () => {
  const page = (from: number): object[] =>
    Array.from({ length: 5_000 }, (_, i) => ({
      id: String(from + i),
      url: "https://a.example",
      host: "h",
    }));
  const endless = await serve((request, response) => {
    const number = Number(new URL(request.url ?? "", "http://local").searchParams.get("page"));
    response.end(envelope(page(number * 5_000)));
  });
  const config = { baseUrl: endless.url, apiToken: "local-token" };
  await expect(getScripts({ zoneId: zones.shop }, { config })).rejects.toThrow(
    "there are more than 50,000, the most that are read. Set hosts or status, so that fewer match.",
  );
  expect(endless.seen).toHaveLength(11);
});
