import { apiPerTest } from "../support/bench";
import type { Entry } from "../../provider/kv/entry";
import { readValues, type ReadRequest } from "../../provider/kv/values";
import { clientOf, envelope, failureOf, serve, TOKEN } from "../support/edge-client";
import {
  all,
  emptyNamespace,
  fill,
  keyAt,
  manyEntries,
  mostInFlight,
  sentBatches,
  contextFor,
  textEntry,
} from "./upload-support";

const api = apiPerTest();
const place = { accountId: api.accounts.main, namespaceId: api.namespaces.existing };
beforeEach(() => void emptyNamespace(api));

async function store(entries: Iterable<Entry>): Promise<void> {
  await fill(api, place, entries);
  api.clearRequests();
}

const values = (
  request: Omit<ReadRequest, "accountId" | "namespaceId">,
  from: { url: string } = api,
  where = place,
) => all(readValues(contextFor(from, { config: { maxRetries: "1" } }).ctx, { ...where, ...request }));

const BINARY = Buffer.from([0xff, 0xfe, 0x00, 0x80, 0xef, 0xbb, 0xbf]);
const binary = (key: string): Entry => ({ key, value: BINARY.toString("base64"), base64: true });

describe("readValues", () => {
  test("reads 100 values per request, several requests at once", async () => {
    await store(manyEntries(950));
    api.fault({ match: {}, kind: "slow", delayMs: 50, times: 100 });
    const found = await values({ keys: Array.from({ length: 950 }, (_, i) => keyAt(i)) });
    expect(found).toHaveLength(950);
    expect(found[949]).toEqual({
      key: keyAt(949),
      bytes: Buffer.from("value 949 ".padEnd(100, ".")),
    });
    expect(sentBatches(api).sort()).toEqual([
      ...Array<string>(9).fill("POST bulk/get 100"),
      "POST bulk/get 50",
    ]);
    expect(mostInFlight(api, () => 1)).toBeGreaterThanOrEqual(4);
  });

  test("returns values with their metadata, whatever their keys, and leaves out missing keys", async () => {
    const entries: Entry[] = [
      textEntry("straße/ü ber", "Grüß Gott 🙂"),
      { key: "__proto__", value: "p", base64: false, metadata: { a: 1 } },
      textEntry("constructor", ""),
      textEntry("bom", "\ufeffmarked"),
    ];
    await store(entries);
    const found = await values({ keys: ["missing", ...entries.map(({ key }) => key)] });
    expect(found).toEqual([
      { key: "straße/ü ber", bytes: Buffer.from("Grüß Gott 🙂") },
      { key: "__proto__", bytes: Buffer.from("p"), metadata: { a: 1 } },
      { key: "constructor", bytes: Buffer.from("") },
      { key: "bom", bytes: Buffer.from("\ufeffmarked") },
    ]);
    expect(api.requests).toHaveLength(1);
  });

  test("splits a failing bulk read to find values that aren't text, and reads those one by one, byte for byte", async () => {
    const others = Array.from({ length: 7 }, (_, i) => textEntry(`t${i}`, "text"));
    await store([...others, { ...binary("a/b?c#d%"), metadata: { m: true } }]);
    const found = await values({ keys: [...others.map(({ key }) => key), "a/b?c#d%"] });
    expect(found).toHaveLength(8);
    expect(found.at(-1)).toEqual({ key: "a/b?c#d%", bytes: BINARY, metadata: { m: true } });
    expect(sentBatches(api)).toEqual([
      "POST bulk/get 8",
      "POST bulk/get 4",
      "POST bulk/get 4",
      "POST bulk/get 2",
      "POST bulk/get 2",
      "POST bulk/get 1",
      "POST bulk/get 1",
      "GET values/a%2Fb%3Fc%23d%25",
      "GET metadata/a%2Fb%3Fc%23d%25",
    ]);
  });

  test("reads values that are known to be binary one by one, not in bulk", async () => {
    await store([textEntry("t", "text"), binary("b1"), binary("b2")]);
    const found = await values({
      keys: ["b1", "t", "missing", "b2"],
      isBinary: (key) => key !== "t",
      withMetadata: false,
    });
    expect(found.map(({ key }) => key)).toEqual(["t", "b1", "b2"]);
    expect(sentBatches(api).sort()).toEqual([
      "GET values/b1",
      "GET values/b2",
      "GET values/missing",
      "POST bulk/get 1",
    ]);
  });

  test("reads values one by one if the bulk read garbles them", async () => {
    const raw: Record<string, Buffer> = { cut: BINARY, real: Buffer.from("a \ufffd b"), half: BINARY };
    const server = await serve((request, response) => {
      request.resume().on("end", () => {
        const { url = "" } = request;
        const key = /values\/(.*)$/.exec(url)?.[1];
        if (key !== undefined) response.end(raw[key]);
        else if (url.includes("/metadata/")) response.end(envelope(null));
        else {
          const texts = { cut: "\ufffd\ufffd", real: "a \ufffd b", half: "\ud83d", fine: "text", pair: "🙂" };
          const found = Object.entries(texts).map(([name, value]) => [name, { value, metadata: null }]);
          response.end(envelope({ values: Object.fromEntries(found) as object }));
        }
      });
    });
    const found = await values({ keys: ["cut", "fine", "real", "half", "pair", "missing"] }, server);
    expect(Object.fromEntries(found.map(({ key, bytes }) => [key, bytes]))).toEqual({
      ...raw,
      fine: Buffer.from("text"),
      pair: Buffer.from("🙂"),
    });
    expect(server.seen.filter((line) => line.includes("/values/"))).toHaveLength(3);
  });

  test("reads values one by one if they're too large for one response", async () => {
    await store(manyEntries(20));
    api.fault({ match: { path: "/bulk/get" }, kind: "status", status: 413 });
    const keys = Array.from({ length: 20 }, (_, i) => keyAt(i));
    expect(await values({ keys, withMetadata: false })).toHaveLength(20);
    expect(api.requests).toHaveLength(21);
  });

  test("fails if the namespace is missing", async () => {
    const gone = { ...place, namespaceId: "0".repeat(32) };
    const failure = (request: { keys: string[]; isBinary?: () => boolean }) =>
      failureOf(values(request, api, gone));
    expect((await failure({ keys: ["a"] })).message).toContain("namespace not found");
    expect((await failure({ keys: ["a"], isBinary: () => true })).message).toContain(
      `Reading the value of key "a" in namespace ${gone.namespaceId} failed: GET `,
    );
  });

  test("fails if the API fails", async () => {
    await store(manyEntries(300));
    api.fault({ match: {}, kind: "status", status: 500, times: 99 });
    const keys = Array.from({ length: 300 }, (_, i) => keyAt(i));
    expect(await failureOf(values({ keys }))).toMatchObject({ status: 500 });
  });
});

describe("getBytes", () => {
  const what = "Reading";
  const pathOf = (key: string) =>
    `/accounts/${place.accountId}/storage/kv/namespaces/${place.namespaceId}/values/${key}`;

  test("returns the stored bytes and the headers, even if the bytes look like an error", async () => {
    const value = '{"success":false,"errors":[{"code":1,"message":"no"}],"result":null,"messages":[]}';
    await store([{ key: "v", value, base64: false, expiration: 4_102_444_800 }, textEntry("none", "")]);
    const { client } = clientOf(api.url);
    const { bytes, headers } = await client.getBytes(pathOf("v"), { what });
    expect(bytes.toString()).toBe(value);
    expect(headers["expiration"]).toBe("4102444800");
    expect((await client.getBytes(pathOf("none"), { what })).bytes).toEqual(Buffer.alloc(0));
  });

  test("retries a read of bytes like any GET", async () => {
    await store([binary("v")]);
    const { client } = clientOf(api.url, { maxRetries: 3 });
    api.fault({ match: {}, kind: "status", status: 500 });
    api.fault({ match: {}, kind: "dropBefore" });
    api.fault({ match: {}, kind: "truncated" });
    expect((await client.getBytes(pathOf("v"), { what })).bytes).toEqual(BINARY);
    expect(api.requests).toHaveLength(4);
  });

  test("fails with Cloudflare's message", async () => {
    const { client } = clientOf(api.url);
    const failure = await failureOf(client.getBytes(pathOf("v"), { what }));
    expect(failure).toMatchObject({ status: 404 });
    expect(failure.message).toContain("get: 'key not found' [code 10009]");
  });

  test("hides the credential in a request's path", async () => {
    const { client, debug } = clientOf(api.url, { credential: TOKEN });
    await failureOf(client.getBytes(pathOf("local-token"), { what }));
    expect(debug.join("\n")).toContain("values/[secret] -> 404");
    expect(debug.join("\n")).not.toContain("local-token");
  });
});
