import { apiPerTest } from "../support/bench";
import { callerOf, token, start } from "./client";
import { failed, type KvCaller, namespacesOf, newNamespace } from "./kv-client";

const STARTED_AT = Date.parse("2026-10-01T00:00:00.500Z");
const SECONDS = Math.floor(STARTED_AT / 1000);

const api = apiPerTest({ clock: () => new Date(STARTED_AT), limits: { maxKvValueBytes: 5000 } });
let kv: KvCaller;

beforeEach(async () => {
  kv = await newNamespace(api);
});

const valueUrl = (key: string, query = "") =>
  `${api.url}${kv.path}/values/${encodeURIComponent(key)}${query}`;
const get = (key: string) => fetch(valueUrl(key), { headers: token });
const metadata = (key: string) => kv.call("GET", `${kv.path}/metadata/${encodeURIComponent(key)}`);

async function put(key: string, body: string | Uint8Array<ArrayBuffer> | FormData, query = "") {
  const response = await fetch(valueUrl(key, query), { method: "PUT", headers: token, body });
  return { status: response.status, body: await response.json() };
}

const binary = new Uint8Array([0, 255, 13, 10, 45, 45, 200, 0xef, 0xbb, 0xbf]);

describe("the KV API", () => {
  test("stores a value byte for byte, and returns it without an envelope", async () => {
    expect(await put("raw", binary)).toMatchObject({ status: 200, body: { success: true, result: null } });
    const response = await get("raw");
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(binary);
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    expect(response.headers.get("expiration")).toBeNull();

    const long = new Uint8Array(5000).fill(200);
    await put("long", long);
    expect(new Uint8Array(await (await get("long")).arrayBuffer())).toEqual(long);
    await put("text", "Grüße 🎈");
    expect(await kv.text("text")).toBe("Grüße 🎈");
    await put("empty", "");
    expect(await kv.text("empty")).toBe("");
  });

  test("rejects a form: it reads a value only as the raw body", async () => {
    const form = new FormData();
    form.append("value", "1");
    expect(await put("x", form)).toMatchObject(failed(400, 10012));
    expect(await kv.text("x")).toBeUndefined();
  });

  test("replaces an entry completely: a write without metadata and expiration clears them", async () => {
    await kv.put([{ key: "a", value: "1", metadata: { m: 1 }, expiration_ttl: 100 }]);
    expect((await kv.list()).keys).toEqual([{ name: "a", metadata: { m: 1 }, expiration: SECONDS + 100 }]);
    await put("a", "2");
    expect((await kv.list()).keys).toEqual([{ name: "a" }]);
    expect(await kv.text("a")).toBe("2");
  });

  test("returns 404 for reading a missing key, but 200 for deleting it", async () => {
    expect(await kv.call("GET", `${kv.path}/values/none`)).toMatchObject(failed(404, 10009));
    expect(await metadata("none")).toMatchObject(failed(404, 10009));
    const remove = () => kv.call("DELETE", `${kv.path}/values/a`);
    await put("a", "1");
    expect(await remove()).toMatchObject({ status: 200, body: { success: true, result: null } });
    expect(await kv.text("a")).toBeUndefined();
    expect(await remove()).toMatchObject({ status: 200 });
    const elsewhere = `${namespacesOf(api)}/${"0".repeat(32)}`;
    for (const [method, path] of [
      ["GET", "values/a"],
      ["PUT", "values/a"],
      ["DELETE", "values/a"],
      ["GET", "metadata/a"],
    ] as const) {
      expect(await kv.call(method, `${elsewhere}/${path}`)).toMatchObject(failed(404, 10013));
    }
  });

  test("rejects a value above the size limit", async () => {
    expect(await put("a", "x".repeat(5000))).toMatchObject({ status: 200 });
    expect(await put("a", "x".repeat(5001))).toMatchObject(failed(413, 10024));
  });
});

describe("the KV API", () => {
  test.each([
    "a/b",
    "a%2Fb",
    "100%",
    "müßig/🎈",
    "a b+c?d#e&f",
    "..a",
    "back\\slash",
    "line\nbreak",
    "__proto__",
  ])("accepts the key %j", async (key) => {
    await put(key, "written");
    expect((await kv.list()).names).toEqual([key]);
    expect(await kv.text(key)).toBe("written");
    await kv.put([{ key, value: "again", metadata: 1 }]);
    expect((await metadata(key)).body).toMatchObject({ result: 1 });
    const read = await kv.call("POST", `${kv.path}/bulk/get`, { keys: [key] });
    expect(JSON.stringify(read.body)).toContain(`{"values":{${JSON.stringify(key)}:"again"}}`);
    await kv.call("DELETE", `${kv.path}/values/${encodeURIComponent(key)}`);
    expect((await kv.list()).names).toEqual([]);
  });

  test("accepts keys of up to 512 bytes of UTF-8", async () => {
    expect(await put("ü".repeat(256), "1")).toMatchObject({ status: 200 });
    expect(await put("ü".repeat(257), "1")).toMatchObject(failed(414, 10030));
  });

  test("rejects a key that isn't a single, correctly encoded path segment", async () => {
    expect(await kv.call("PUT", `${kv.path}/values/a/b`, "1")).toMatchObject({ status: 404 });
    expect(await kv.call("PUT", `${kv.path}/values/%FF`, "1")).toMatchObject(failed(400, 10042));
  });
});

describe("the KV API", () => {
  test("hides an expired key from reads and listings once the clock reaches its expiration", async () => {
    await put("ttl", "1", "?expiration_ttl=60");
    await put("time", "2", `?expiration=${SECONDS + 120}`);
    await put("both", "3", `?expiration=${SECONDS + 600}&expiration_ttl=90`);
    expect((await get("ttl")).headers.get("expiration")).toBe(String(SECONDS + 60));
    expect((await get("both")).headers.get("expiration")).toBe(String(SECONDS + 90));

    api.advance(59_000);
    expect((await kv.list()).names).toEqual(["both", "time", "ttl"]);
    api.advance(1000);
    expect((await kv.list()).names).toEqual(["both", "time"]);
    expect(await kv.text("ttl")).toBeUndefined();
    expect(await metadata("ttl")).toMatchObject(failed(404, 10009));
    api.advance(60_000);
    expect((await kv.list()).names).toEqual([]);
  });

  test("rejects an expiration less than 60 seconds in the future, unless a TTL overrides it", async () => {
    expect(await put("a", "1", "?expiration_ttl=59")).toMatchObject(failed(400, 10034));
    expect(await put("a", "1", "?expiration_ttl=soon")).toMatchObject(failed(400, 10034));
    expect(await put("a", "1", `?expiration=${SECONDS + 59}`)).toMatchObject(failed(400, 10033));
    expect(await put("a", "1", `?expiration=1&expiration_ttl=60`)).toMatchObject({ status: 200 });
    expect(await put("a", "1", `?expiration=${SECONDS + 60}`)).toMatchObject({ status: 200 });
  });

  test("never brings an expired key back, because the clock only moves forward", () => {
    expect(() => api.advance(-1)).toThrow("the clock can't be moved by -1 ms");
  });
});

test('the strict "documented" dialect rejects keys with whitespace and metadata that isn\'t an object', async () => {
  const strict = await start({ dialect: "documented", strict: true });
  try {
    const path = `${namespacesOf(strict)}/${strict.namespaces.existing}/bulk`;
    const write = (pair: object) => callerOf(strict)("PUT", path, [{ key: "a", value: "1", ...pair }]);
    expect(await write({ metadata: {} })).toMatchObject({ status: 200 });
    expect(await write({ metadata: [1] })).toMatchObject(failed(400, 10047, "/0/metadata"));
    expect(await write({ key: "a b" })).toMatchObject(failed(400, 10042, "/0/key"));
  } finally {
  }
});
