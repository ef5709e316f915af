import type { LocalApi, LocalApiOptions } from "edgeguard-local";
import { start } from "./client";
import { failed, type KvCaller, newNamespace } from "./kv-client";

async function namespaceIn(options: LocalApiOptions = {}): Promise<{ api: LocalApi; kv: KvCaller }> {
  const api = await start({ clock: () => new Date("2026-10-01T00:00:00Z"), ...options });
  return { api, kv: await newNamespace(api) };
}

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `k${String(from + index).padStart(6, "0")}`);
const pairs = (keys: readonly string[]) => keys.map((key) => ({ key, value: key }));

describe("listing keys", () => {
  test("sorts keys by UTF-8 bytes, not by UTF-16", async () => {
    const { kv } = await namespaceIn();
    const names = ["b", "\u{1F388}", "\uFF5E", "ü", "B", "a/2", "a/10", "\uE000", "a"];
    await kv.put(pairs(names));
    const byBytes = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect((await kv.list()).names).toEqual(byBytes);
    expect(byBytes).not.toEqual([...names].sort());
  });

  test("uses cursors for its pages, lists each key once, and ends with an empty cursor", async () => {
    const { kv } = await namespaceIn();
    const names = numbered(0, 2500);
    await kv.put(pairs([...names].reverse()));
    expect(await kv.listAll()).toEqual({ names, pages: 3, empty: 0 });
    expect(await kv.listAll("limit=10")).toMatchObject({ names, pages: 250 });
    expect((await kv.list("limit=10")).names).toEqual(names.slice(0, 10));
    expect((await kv.list("prefix=k0024&limit=100")).cursor).toBe("");
  });

  test('omits the cursor on the last page in the "documented" dialect', async () => {
    const { kv } = await namespaceIn({ dialect: "documented" });
    await kv.put(pairs(numbered(0, 11)));
    expect((await kv.list("limit=10")).cursor).toMatch(/./);
    expect((await kv.list()).cursor).toBeUndefined();
  });

  test("returns only keys with the prefix, which the request for each page has to repeat", async () => {
    const { kv } = await namespaceIn();
    await kv.put(pairs(["a", "ü/1", "ü/2", "ü", "v", ...numbered(0, 30)]));
    expect((await kv.list(`prefix=${encodeURIComponent("ü")}`)).names).toEqual(["ü", "ü/1", "ü/2"]);
    expect(await kv.listAll("prefix=k00000&limit=10")).toMatchObject({ names: numbered(0, 10), pages: 1 });
    const first = await kv.list("prefix=k00&limit=10");
    expect((await kv.list(`limit=30&cursor=${first.cursor}`)).names).toEqual([
      ...numbered(10, 30),
      ...["v", "ü", "ü/1", "ü/2"],
    ]);
    expect((await kv.list("prefix=none")).names).toEqual([]);
  });

  test("continues after the last listed key, even if keys were written or deleted in between", async () => {
    const { kv } = await namespaceIn();
    await kv.put(pairs(numbered(0, 40)));
    const first = await kv.list("limit=10");
    await kv.call("POST", `${kv.path}/bulk/delete`, numbered(5, 15));
    await kv.put(pairs(["a", "k000009x", ...numbered(5, 7)]));
    const rest = await kv.list(`limit=100&cursor=${first.cursor}`);
    expect(rest.names).toEqual(["k000009x", ...numbered(15, 40)]);
    expect((await kv.list()).names).toEqual(["a", ...numbered(0, 7), "k000009x", ...numbered(15, 40)]);
  });

  test("rejects limits outside 10 to 1000, and invalid cursors", async () => {
    const { kv } = await namespaceIn();
    for (const limit of ["9", "1001", "x", "10.5"]) {
      expect(await kv.call("GET", `${kv.path}/keys?limit=${limit}`)).toMatchObject(failed(400, 10028));
    }
    for (const cursor of ["x", "MTIz", "%25", "MDphYg=="]) {
      expect(await kv.call("GET", `${kv.path}/keys?cursor=${cursor}`)).toMatchObject(failed(400, 10041));
    }
  });

  test("can return empty pages, either before every page or because of a fault", async () => {
    const often = await namespaceIn({ kvEmptyPages: 2 });
    await often.kv.put(pairs(numbered(0, 30)));
    expect(await often.kv.listAll("limit=10")).toEqual({ names: numbered(0, 30), pages: 9, empty: 6 });

    const { api, kv } = await namespaceIn();
    await kv.put(pairs(numbered(0, 30)));
    api.fault({ kind: "emptyPage", match: { path: kv.id }, times: 3 });
    expect(await kv.listAll("limit=10")).toEqual({ names: numbered(0, 30), pages: 6, empty: 3 });
  });
});

describe("a simulated KV lag", () => {
  test("hides writes and deletes from listings until it has passed", async () => {
    const { api, kv } = await namespaceIn({ kvLagMs: { listing: 1000 } });
    await kv.put(pairs(["a", "b"]));
    expect((await kv.list()).names).toEqual([]);
    expect(await kv.text("a")).toBe("a");
    api.advance(600);
    await kv.call("DELETE", `${kv.path}/values/a`);
    api.advance(400);
    expect((await kv.list()).names).toEqual(["a", "b"]);
    expect(await kv.text("a")).toBeUndefined();
    api.advance(600);
    expect((await kv.list()).names).toEqual(["b"]);
  });

  test("can hide writes from reads, bulk reads and metadata for a different time than from listings", async () => {
    const { api, kv } = await namespaceIn({ kvLagMs: { reads: 1000, listing: 200 } });
    const read = () => kv.call("POST", `${kv.path}/bulk/get`, { keys: ["a"] });
    await kv.put([{ key: "a", value: "1", metadata: 1 }]);
    api.advance(1000);
    await kv.put([{ key: "a", value: "2", metadata: 2 }]);
    api.advance(500);
    expect(await kv.text("a")).toBe("1");
    expect(await read()).toMatchObject({ body: { result: { values: { a: "1" } } } });
    expect(await kv.call("GET", `${kv.path}/metadata/a`)).toMatchObject({ body: { result: 1 } });
    expect((await kv.list()).keys).toEqual([{ name: "a", metadata: 2 }]);
    api.advance(500);
    expect(await kv.text("a")).toBe("2");
  });

  test("can be started and ended at any time, for a single namespace", async () => {
    const { api, kv } = await namespaceIn();
    const other = await newNamespace(api);
    await kv.put(pairs(["a"]));
    api.lagKv(kv.id, { listing: 60_000 });
    await kv.put(pairs(["b"]));
    await other.put(pairs(["b"]));
    expect((await kv.list()).names).toEqual(["a"]);
    expect((await other.list()).names).toEqual(["b"]);
    api.lagKv(kv.id, { listing: 0 });
    expect((await kv.list()).names).toEqual(["a", "b"]);

    api.lagKv(kv.id, { reads: 5000 });
    await kv.put(pairs(["c"]));
    expect([await kv.text("c"), (await kv.list()).names]).toEqual([undefined, ["a", "b", "c"]]);
    expect(() => api.lagKv("0".repeat(32), { reads: 5000 })).toThrow("namespace not found");
  });
});

describe("a namespace of 100,000 keys", () => {
  test("can be written, listed, listed by prefix and deleted", async () => {
    const { api, kv } = await namespaceIn({ kvStore: "digests" });
    const names = numbered(0, 100_000);
    const batches = Array.from({ length: 10 }, (_, index) =>
      names.slice(index * 10_000, (index + 1) * 10_000),
    );
    const value = "v".repeat(100);
    await Promise.all(batches.reverse().map((batch) => kv.put(batch.map((key) => ({ key, value })))));
    expect((await kv.listAll()).names).toEqual(names);
    expect((await kv.list("prefix=k0999")).names).toEqual(numbered(99_900, 100_000));
    await Promise.all(batches.map((batch) => kv.call("POST", `${kv.path}/bulk/delete`, batch)));
    expect((await kv.list()).names).toEqual([]);
    expect(api.requests.filter(({ method }) => method === "PUT").map(({ batch }) => batch?.entries)).toEqual(
      Array.from({ length: 10 }, () => 10_000),
    );
  });
});
