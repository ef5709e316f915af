import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { callerOf, controlOf, each, start } from "./client";
import { failed, kvCaller, namespacesOf, newNamespace } from "./kv-client";
import { virtualTime } from "../support/virtual-time";
import { folderPerFile } from "../support/bench";

describe("the request log", () => {
  test("contains counts and the first five keys instead of KV bodies", async () => {
    const api = await start();
    const kv = await newNamespace(api);
    api.clearRequests();
    const pairs = Array.from({ length: 7 }, (_, index) => ({ key: `k${index}`, value: "v" }));
    const keys = ["k0", "k1", "k2", "k3", "k4"];

    await kv.put(pairs);
    await kv.call("POST", `${kv.path}/bulk/delete`, ["k0", "k1"]);
    await kv.call("POST", `${kv.path}/bulk/get`, { keys: ["k1"] });
    await kv.call("PUT", `${kv.path}/values/a%2Fb`, "12345");
    await kv.call("PUT", `${kv.path}/bulk`, "[{");
    await kv.call("GET", `${kv.path}/values/k0`);
    await kv.call("PUT", kv.path, { title: "renamed" });

    expect(api.requests.map(({ batch }) => batch)).toEqual([
      { entries: 7, bytes: JSON.stringify(pairs).length, keys },
      { entries: 2, bytes: 11, keys: ["k0", "k1"] },
      { entries: 1, bytes: 15, keys: ["k1"] },
      { entries: 1, bytes: 5, keys: ["a/b"] },
      { entries: 0, bytes: 2, keys: [] },
      undefined,
      undefined,
    ]);
    expect(api.requests.map(({ body }) => body)).toEqual([
      ...Array.from({ length: 6 }, () => undefined),
      { title: "renamed" },
    ]);
  });

  test("includes requests that a fault dropped", async () => {
    const api = await start();
    const kv = await newNamespace(api);
    api.fault({ kind: "dropBefore", match: { method: "PUT" } });
    await expect(kv.put([{ key: "a", value: "1" }])).rejects.toThrow("fetch failed");
    expect(api.requests.at(-1)).toMatchObject({ fault: "dropBefore", status: null, batch: { entries: 1 } });
    expect((await kv.list()).names).toEqual([]);
  });

  test("records when each request started and ended, using the real clock", async () => {
    const time = virtualTime();
    const api = await start({ latencyMs: 100, clock: () => new Date(0) });
    const kv = kvCaller(api, api.namespaces.existing);
    const before = performance.timeOrigin + performance.now();
    time.stop();
    const together = Array.from({ length: 5 }, () => kv.list());
    while (time.waits.length < 5) await new Promise(setImmediate);
    time.go();
    await Promise.all(together);
    await kv.list();

    const spans = api.requests.map(({ startedAt, endedAt }) => ({ startedAt, endedAt: endedAt ?? NaN }));
    expect(spans.map(({ startedAt }) => startedAt - before)).toEqual([0, 0, 0, 0, 0, 100]);
    expect(spans.map(({ startedAt, endedAt }) => endedAt - startedAt)).toEqual([
      100, 100, 100, 100, 100, 100,
    ]);
    const inFlight = spans.map(
      (span) =>
        spans.filter((other) => other.startedAt <= span.startedAt && span.startedAt < other.endedAt).length,
    );
    expect(Math.max(...inFlight)).toBe(5);
    expect(inFlight.at(-1)).toBe(1);
  });
});

test('with kvStore: "digests", the API stores only digests of KV values and can\'t return the values', async () => {
  const api = await start({ kvStore: "digests" });
  const kv = await newNamespace(api);
  await kv.put([{ key: "a", value: "abc", metadata: 1 }]);
  expect((await kv.list()).keys).toEqual([{ name: "a", metadata: 1 }]);
  expect(await kv.call("GET", `${kv.path}/values/a`)).toMatchObject(failed(501, 10501));
  expect(await kv.call("POST", `${kv.path}/bulk/get`, { keys: ["a"] })).toMatchObject(failed(501, 10501));
  const sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const kept = api.snapshot().kv?.namespaces.find(({ id }) => id === kv.id)?.entries;
  expect(kept).toEqual([{ key: "a", sha256, length: 3, metadata: 1 }]);
});

describe("the state", () => {
  test("includes KV when it's saved, restored and reset", async () => {
    const api = await start();
    const before = api.snapshot();
    const existing = kvCaller(api, api.namespaces.existing);
    const kv = await newNamespace(api);
    await kv.put([{ key: "a", value: "/wA=", base64: true, metadata: { m: 1 } }]);
    await existing.call("DELETE", `${existing.path}/values/greeting`);
    const after = api.snapshot();

    api.reset();
    expect(api.snapshot()).toEqual(before);
    expect(await existing.text("greeting")).toBe("Hello");
    const control = controlOf(api);
    expect(await control("PUT", "/state", after)).toMatchObject({ status: 204 });
    expect((await control("GET", "/state")).body).toEqual(after);
    expect((await kv.list()).keys).toEqual([{ name: "a", metadata: { m: 1 } }]);
    expect(await existing.text("greeting")).toBeUndefined();

    const withoutKv = { ...before };
    delete withoutKv.kv;
    api.restore(withoutKv);
    expect(api.snapshot().kv).toEqual(after.kv);
  });
});

describe("KV in a data directory", () => {
  const root = folderPerFile("local-api"); // Not for each test: the APIs close after that.
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(root, "data-"));
  });

  test("survives a restart with its namespaces, values, metadata, expirations, deletes and initial data", async () => {
    let now = Date.parse("2026-10-01T00:00:00Z");
    const clock = () => new Date(now);
    const first = await start({ persistTo: folder, clock });
    const kv = await newNamespace(first);
    await kv.put([
      { key: "text", value: "Grüße", metadata: [1] },
      { key: "binary", value: "/wA=", base64: true },
      { key: "short-lived", value: "x", expiration_ttl: 60 },
      { key: "gone", value: "x" },
    ]);
    await kv.call("POST", `${kv.path}/bulk/delete`, ["gone"]);
    await kv.call("PUT", kv.path, { title: "renamed" });
    const doomed = await newNamespace(first);
    await doomed.put([{ key: "a", value: "1" }]);
    await doomed.call("DELETE", doomed.path);
    const kept = first.snapshot().kv;
    await first.close();

    const second = await start({ persistTo: folder, clock });
    expect(second.snapshot().kv).toEqual(kept);
    now += 60_000;
    expect((await kvCaller(second, kv.id).list()).names).toEqual(["binary", "text"]);
    expect(each(await callerOf(second)("GET", namespacesOf(second)), "title")).toEqual([
      "existing",
      "renamed",
    ]);
  });

  test("can be restored and reset", async () => {
    const first = await start({ persistTo: folder });
    const kv = await newNamespace(first);
    await kv.put([{ key: "a", value: "1" }]);
    first.reset();
    const kept = first.snapshot().kv;
    await first.close();
    expect((await start({ persistTo: folder })).snapshot().kv).toEqual(kept);
  });
});
