import { defaultLimits } from "../../local/api/limits";
import { apiPerFile } from "../support/bench";
import { token, start } from "./client";
import { failed, type KvCaller, newNamespace } from "./kv-client";

const STARTED_AT = Date.parse("2026-10-01T00:00:00Z");
const SECONDS = STARTED_AT / 1000;

const api = apiPerFile({ clock: () => new Date(STARTED_AT) });
let kv: KvCaller;

beforeEach(async () => {
  kv = await newNamespace(api);
});

const counts = (successful: number, ...unsuccessful: string[]) => ({
  status: 200,
  body: { result: { successful_key_count: successful, unsuccessful_keys: unsuccessful } },
});

describe("a bulk write", () => {
  test("stores each pair's value, metadata and expiration, and only the last pair if a key occurs twice", async () => {
    const response = await kv.put([
      { key: "a", value: "first" },
      { key: "b", value: "aGVsbG8=", base64: true, metadata: ["any", { json: true }] },
      { key: "c", value: "Größe", expiration_ttl: 60, expiration: 1 },
      { key: "a", value: "last", expiration: SECONDS + 60, metadata: null },
    ]);
    expect(response).toMatchObject(counts(4));
    expect((await kv.list()).keys).toEqual([
      { name: "a", expiration: SECONDS + 60 },
      { name: "b", metadata: ["any", { json: true }] },
      { name: "c", expiration: SECONDS + 60 },
    ]);
    expect([await kv.text("a"), await kv.text("b"), await kv.text("c")]).toEqual(["last", "hello", "Größe"]);
  });

  test.each([
    ["an object", { key: "a", value: "1" }, 400, 10012, undefined],
    ["invalid JSON", "[{", 400, 10012, undefined],
    ["a pair that isn't an object", ["a"], 400, 10012, "/0"],
    ["no key", [{ value: "1" }], 400, 10012, "/0/key"],
    ["no value", [{ key: "a" }], 400, 10012, "/0/value"],
    ["a value that isn't a string", [{ key: "a", value: 1 }], 400, 10012, "/0/value"],
    ["invalid base64", [{ key: "a", value: "a-b_", base64: true }], 400, 10012, "/0/value"],
    ["truncated base64", [{ key: "a", value: "aGVsbG8", base64: true }], 400, 10012, "/0/value"],
    ["base64 as a string", [{ key: "a", value: "", base64: "true" }], 400, 10012, "/0/base64"],
    ["an empty key", [{ key: "", value: "1" }], 400, 10042, "/0/key"],
    ["the key .", [{ key: ".", value: "1" }], 400, 10042, "/0/key"],
    ["the key ..", [{ key: "..", value: "1" }], 400, 10042, "/0/key"],
    ["a key of 513 bytes", [{ key: `${"ü".repeat(256)}a`, value: "1" }], 414, 10030, "/0/key"],
    [
      "1025 bytes of metadata",
      [{ key: "a", value: "", metadata: "x".repeat(1023) }],
      400,
      10047,
      "/0/metadata",
    ],
    ["a TTL of 59 s", [{ key: "a", value: "", expiration_ttl: 59 }], 400, 10034, "/0/expiration_ttl"],
    [
      "an expiration 59 s ahead",
      [{ key: "a", value: "", expiration: SECONDS + 59 }],
      400,
      10033,
      "/0/expiration",
    ],
  ])("is rejected as a whole if it contains %s", async (_, body, status, code, pointer) => {
    const good = { key: "good", value: "1" };
    const shifted = pointer?.replace("/0", "/1");
    const sent = Array.isArray(body) ? [good, ...(body as unknown[])] : body;
    expect(await kv.call("PUT", `${kv.path}/bulk`, sent)).toMatchObject(failed(status, code, shifted));
    expect((await kv.list()).names).toEqual([]);
  });

  test("accepts pairs whose key, metadata and expiration are exactly at the limits", async () => {
    expect(
      await kv.put([
        { key: "ü".repeat(256), value: "", metadata: "x".repeat(1022), expiration_ttl: 60 },
        { key: "...", value: "", expiration: SECONDS + 60 },
      ]),
    ).toMatchObject(counts(2));
  });

  test("accepts up to 10,000 pairs", async () => {
    const pairs = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ key: `k${index}`, value: "v" }));
    expect(await kv.put(pairs(10_001))).toMatchObject(failed(400, 10029));
    expect(await kv.put(pairs(10_000))).toMatchObject(counts(10_000));
  });

  test("accepts up to 26,214,400 bytes per value, after decoding base64 (a limit of 26,214 bytes stands for it)", async () => {
    expect(defaultLimits.maxKvValueBytes).toBe(26_214_400);
    const smaller = await start({ limits: { maxKvValueBytes: 26_214 } });
    const kv = await newNamespace(smaller);
    const value = Buffer.alloc(26_214, 65);
    expect(await kv.put([{ key: "a", value: value.toString("base64"), base64: true }])).toMatchObject(
      counts(1),
    );
    const more = Buffer.concat([value, Buffer.from("A")]);
    const refused = failed(413, 10024, "/0/value");
    expect(await kv.put([{ key: "b", value: more.toString("base64"), base64: true }])).toMatchObject(refused);
    expect(await kv.put([{ key: "b", value: more.toString() }])).toMatchObject(refused);
    const read = await fetch(`${smaller.url}${kv.path}/values/a`, { headers: token });
    expect(Buffer.from(await read.arrayBuffer()).equals(value)).toBe(true);
  });

  test('returns null in the "documented" dialect', async () => {
    const documented = await start({ dialect: "documented" });
    const other = await newNamespace(documented);
    expect(await other.put([{ key: "a", value: "1" }])).toMatchObject({
      status: 200,
      body: { result: null },
    });
    const removed = await other.call("POST", `${other.path}/bulk/delete`, ["a"]);
    expect(removed).toMatchObject({ status: 200, body: { result: null } });
  });
});

describe("a bulk delete", () => {
  test.each([
    ["POST", "/bulk/delete"],
    ["DELETE", "/bulk"],
  ])("with %s %s deletes the given keys, whether or not they exist", async (method, path) => {
    await kv.put(["a", "b", "c"].map((key) => ({ key, value: key })));
    expect(await kv.call(method, kv.path + path, ["a", "c", "never"])).toMatchObject(counts(3));
    expect((await kv.list()).names).toEqual(["b"]);
    expect(await kv.call(method, kv.path + path, { keys: ["b"] })).toMatchObject(failed(400, 10012));
    expect(await kv.call(method, kv.path + path, ["b", 1])).toMatchObject(failed(400, 10012, "/1"));
    expect(await kv.call(method, kv.path + path, ["b", ".."])).toMatchObject(failed(400, 10042, "/1"));
    const many = Array.from({ length: 10_001 }, (_, index) => `k${index}`);
    expect(await kv.call(method, kv.path + path, many)).toMatchObject(failed(400, 10029));
    expect((await kv.list()).names).toEqual(["b"]);
  });
});

describe("a bulk read", () => {
  const read = (body: unknown) => kv.call("POST", `${kv.path}/bulk/get`, body);
  const values = (values: object) => ({ status: 200, body: { result: { values } } });

  test("returns values as text or JSON, with metadata on request, and null for missing keys", async () => {
    await kv.put([
      { key: "a", value: '{"n":1}', metadata: { m: 1 }, expiration_ttl: 60 },
      { key: "b", value: "2" },
    ]);
    expect(await read({ keys: ["a", "b", "c"] })).toMatchObject(values({ a: '{"n":1}', b: "2", c: null }));
    expect(await read({ keys: ["a", "b"], type: "json" })).toMatchObject(values({ a: { n: 1 }, b: 2 }));
    expect((await read({ keys: ["a", "b", "c"], withMetadata: true })).body).toMatchObject({
      result: {
        values: {
          a: { value: '{"n":1}', metadata: { m: 1 }, expiration: SECONDS + 60 },
          b: { value: "2", metadata: null },
          c: null,
        },
      },
    });
  });

  test("accepts 1 to 100 keys", async () => {
    const keys = Array.from({ length: 101 }, (_, index) => `k${index}`);
    expect(await read({ keys: keys.slice(1) })).toMatchObject({ status: 200 });
    expect(await read({ keys })).toMatchObject(failed(400, 10029));
    expect(await read({ keys: [] })).toMatchObject(failed(400, 10029));
    expect(await read({})).toMatchObject(failed(400, 10029));
  });

  test("fails if a value isn't of the requested type, or the request is invalid", async () => {
    await kv.put([
      { key: "binary", value: "/w==", base64: true },
      { key: "text", value: "text" },
    ]);
    expect(await read({ keys: ["binary"] })).toMatchObject(failed(400, 10029));
    expect(await read({ keys: ["text"], type: "json" })).toMatchObject(failed(400, 10029));
    expect(await read({ keys: ["text"], type: "xml" })).toMatchObject(failed(400, 10012, "/type"));
    expect(await read({ keys: "text" })).toMatchObject(failed(400, 10012, "/keys"));
    expect(await read([])).toMatchObject(failed(400, 10012));
    expect(await read({ keys: ["a"], withMetadata: 1 })).toMatchObject(failed(400, 10012, "/withMetadata"));
  });
});

describe('the fault "unsuccessful"', () => {
  const pairs = ["a", "b", "c", "d"].map((key) => ({ key, value: key }));

  test("skips some keys of a bulk write and lists them", async () => {
    const match = { path: kv.id };
    api.fault({ kind: "unsuccessful", match, fraction: 0.5 });
    expect(await kv.put(pairs)).toMatchObject(counts(2, "a", "b"));
    expect((await kv.list()).names).toEqual(["c", "d"]);
    api.fault({ kind: "unsuccessful", match, count: 3, times: 2 });
    expect(await kv.put(pairs)).toMatchObject(counts(1, "a", "b", "c"));
    expect(await kv.put(pairs.slice(0, 2))).toMatchObject(counts(0, "a", "b"));
    expect(await kv.put(pairs)).toMatchObject(counts(4));
    expect(api.requests.filter(({ fault }) => fault === "unsuccessful")).toHaveLength(3);
  });

  test("skips the keys that it names, also in a bulk delete", async () => {
    await kv.put(pairs);
    api.fault({ kind: "unsuccessful", match: {}, keys: ["b", "x"] });
    const response = await kv.call("POST", `${kv.path}/bulk/delete`, ["a", "b"]);
    expect(response).toMatchObject(counts(1, "b"));
    expect((await kv.list()).names).toEqual(["b", "c", "d"]);
  });

  test("affects bulk writes but not reads, and requires exactly one of keys, count and fraction", async () => {
    expect(() => api.fault({ kind: "unsuccessful", match: {} })).toThrow("one of keys, count and fraction");
    expect(() => api.fault({ kind: "unsuccessful", match: {}, count: 1, fraction: 1 })).toThrow("one of");
    api.fault({ kind: "unsuccessful", match: {}, count: 1 });
    await kv.call("POST", `${kv.path}/bulk/get`, { keys: ["a"] });
    await kv.list();
    expect(await kv.put(pairs)).toMatchObject(counts(3, "a"));
  });
});
