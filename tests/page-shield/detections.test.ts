import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { readDetections, saveDetections, type LookupOptions } from "pulumi-edgeguard";

describe.each(["documented", "openapi"] as const)("saveDetections (API dialect: %s)", (dialect) => {
  let api: LocalApi;
  let opts: LookupOptions;
  let folder: string;
  let file: string;

  beforeAll(async () => {
    api = await startLocalApi({ dialect });
    opts = { config: { baseUrl: api.url, apiToken: "local-token" } };
  });
  afterAll(() => api.close());
  beforeEach(async () => {
    api.reset();
    api.clearRequests();
    folder = await mkdtemp(path.join(tmpdir(), "edgeguard-"));
    file = path.join(folder, "detections.json");
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("saves every active script, sorted, including duplicates and Cloudflare's own paths", async () => {
    const saved = await saveDetections(api.zones.shop, file, opts);
    const urls = (saved.scripts ?? []).map(({ url }) => url);
    expect(urls).toEqual([...urls].sort());
    expect(urls).toContain("https://tags.metrics.example/tag.js?id=M-20417&v=2");
    expect(urls).toContain("https://www.shop.example/cdn-cgi/challenge-platform/scripts/jsd/main.js");
    expect(urls).toHaveLength(21);
    expect(readDetections(file)).toEqual(saved);
    expect((await readFile(file, "utf8")).endsWith("}\n")).toBe(true);
    expect(await readdir(folder)).toEqual(["detections.json"]);
  });

  test("saves what a reviewer needs, and nothing that changes from one read to the next", async () => {
    const { scripts } = await saveDetections(api.zones.shop, file, { ...opts, hosts: "checkout.*" });
    const { firstSeenAt, ...rest } = scripts?.find(({ url }) => url.includes("stats-collect")) ?? {};
    expect(firstSeenAt).toMatch(/^2026-/);
    expect(rest).toEqual({
      url: "https://stats-collect.example.com/c.js",
      host: "checkout.shop.example",
      firstPageUrl: "checkout.shop.example/payment",
      domainReportedMalicious: true,
      maliciousDomainCategories: ["Malware"],
      urlReportedMalicious: true,
      maliciousUrlCategories: ["Cryptominer", "Malware"],
      jsIntegrityScore: 4,
    });
  });

  test("saves each attribute of a cookie under its own name", async () => {
    const cookie = {
      name: "session",
      host: "www.shop.example",
      type: "first_party",
      domain_attribute: "shop.example",
      path_attribute: "/account",
      same_site_attribute: "lax",
      http_only_attribute: true,
      secure_attribute: false,
      first_seen_at: "2026-06-01T08:00:00Z",
    } as const;
    api.detect(api.zones.shop, { cookies: [cookie] }, "replace");
    const { cookies } = await saveDetections(api.zones.shop, file, { ...opts, include: ["cookies"] });
    expect(cookies).toEqual([
      {
        name: "session",
        host: "www.shop.example",
        type: "first_party",
        domainAttribute: "shop.example",
        pathAttribute: "/account",
        sameSiteAttribute: "lax",
        httpOnlyAttribute: true,
        secureAttribute: false,
        firstSeenAt: "2026-06-01T08:00:00Z",
      },
    ]);
  });

  test("writes the same bytes for the same detections, regardless of their order and when they were last seen", async () => {
    await saveDetections(api.zones.shop, file, opts);
    const before = await readFile(file, "utf8");
    const old = new Date("2020-01-01");
    await utimes(file, old, old);
    const found = api.snapshot().pageShieldDetected[api.zones.shop];
    const later = (found?.scripts ?? []).map((script, i) => ({
      ...script,
      last_seen_at: `2026-09-02T08:00:${String(59 - i).padStart(2, "0")}Z`,
      fetched_at: "2026-09-02T08:00:00Z",
    }));
    api.detect(api.zones.shop, { scripts: later.reverse() }, "replace");
    await saveDetections(api.zones.shop, file, opts);
    expect(await readFile(file, "utf8")).toBe(before);
    expect((await stat(file)).mtime).toEqual(old);
  });

  test("adds only a new script's lines to an existing file", async () => {
    await saveDetections(api.zones.blog, file, opts);
    const before = (await readFile(file, "utf8")).split("\n");
    api.detect(api.zones.blog, { scripts: [{ url: "https://zz.example/new.js" }] });
    await saveDetections(api.zones.blog, file, opts);
    const after = (await readFile(file, "utf8")).split("\n");
    const added = after.filter((line) => !before.includes(line)).map((line) => line.trim());
    expect(added).toContain('"url": "https://zz.example/new.js",');
    expect(before.filter((line) => !after.includes(line))).toEqual([]);
  });

  test("saves connections and cookies if include lists them", async () => {
    const include = ["cookies", "connections"] as const;
    const saved = await saveDetections(api.zones.shop, file, { ...opts, include });
    expect(Object.keys(saved)).toEqual(["version", "zoneId", "connections", "cookies"]);
    expect(saved.cookies?.map(({ name }) => name)).toEqual([
      "_metrics",
      "cart",
      "checkout_session",
      "remember_me",
      "session_id",
    ]);
    expect(saved.connections).toHaveLength(7);
    expect(
      api.requests.map(({ path, query }) => [path.split("/").at(-1), Object.keys(query).sort()]),
    ).toEqual([
      ["connections", ["direction", "exclude_cdn_cgi", "order_by", "page", "per_page"]],
      ["cookies", ["direction", "order_by", "page", "per_page"]],
    ]);
  });

  test("leaves the file unchanged if one kind can't be read", async () => {
    await writeFile(file, "as it was");
    const include = ["scripts", "connections"] as const;
    await expect(saveDetections(api.zones.small, file, { ...opts, include })).rejects.toThrow(
      "403 Forbidden",
    );
    expect(await readFile(file, "utf8")).toBe("as it was");
  });

  test("says what to check if the file can't be written", async () => {
    const nowhere = path.join(folder, "missing", "detections.json");
    await expect(saveDetections(api.zones.small, nowhere, opts)).rejects.toThrow(
      `can't write ${nowhere} (ENOENT). Check that its directory exists`,
    );
  });
});

describe("readDetections", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "edgeguard-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test.each([
    ["{ not JSON", / is not valid JSON \(.*\)\. Resolve any merge conflict/],
    [
      '{"version": 2, "zoneId": "a"}',
      /has format version 2, but this release of pulumi-edgeguard reads only version 1\. Install/,
    ],
    ['{"scripts": []}', /is not a snapshot of detections: version: /],
    ['{"version": 0, "zoneId": "a"}', /is not a snapshot of detections: version: /],
    ['{"version": 1, "zoneId": "a", "scripts": [{"url": 1, "host": "h"}]}', /: scripts\[0\]\.url: /],
    ["[]", /is not a snapshot of detections: invalid input/],
  ])("rejects %s", async (text, sentence) => {
    const file = path.join(folder, "detections.json");
    await writeFile(file, text);
    expect(() => readDetections(file)).toThrow(sentence);
  });

  test("says how to create a missing file", () => {
    expect(() => readDetections("no-such.json")).toThrow(
      `can't read ${path.resolve("no-such.json")} (ENOENT). Create it with \`edgeguard detections save --zone <zone ID> --out no-such.json\`.`,
    );
  });
});
