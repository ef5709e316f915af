import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiPerTest, folderPerTest } from "../support/bench";
import { failureOf } from "../support/edge-client";
import { REGISTER } from "../../provider/register";
import type { JsonObject } from "../../provider/basics/json";
import { Operation, rawSend, type Recorded } from "../support/operation";
import { bulkWrites, readValues, requestsIn } from "./namespace-values";

const TYPE = "KvEntries";

const api = apiPerTest();
const FOLDER = folderPerTest("kv");
let address: { readonly accountId: string; readonly namespaceId: string };
let path: string;

beforeEach(async () => {
  const accountId = api.accounts.main;
  const { id } = await new Operation(api).up("KvNamespace", { accountId, title: "catalog" });
  address = { accountId, namespaceId: id };
  path = `/accounts/${accountId}/storage/kv/namespaces/${id}`;
  api.clearRequests();
});

/** Writes as someone else. */
const put = (...pairs: readonly object[]): Promise<unknown> => rawSend(api, "PUT", `${path}/bulk`, pairs);
const remove = (...keys: readonly string[]): Promise<unknown> =>
  rawSend(api, "POST", `${path}/bulk/delete`, keys);
const stored = (): Promise<Record<string, string>> => readValues(api, path);

const entries = (map: object, more: object = {}): JsonObject => ({ ...address, entries: map, ...more });
const up = (inputs: JsonObject, previous?: Recorded): Promise<Recorded> =>
  new Operation(api).up(TYPE, inputs, previous);
const stepOf = async (inputs: JsonObject, previous: Recorded): Promise<string> =>
  (await new Operation(api).preview(TYPE, inputs, previous)).step;
/** As if the last write was long ago. */
const laterThan = (recorded: Recorded, outputs: object = {}): Recorded => ({
  ...recorded,
  outputs: { ...recorded.outputs, writtenAt: 1, ...outputs },
});
const bulk = (): number[] => bulkWrites(api);

describe("KvEntries", () => {
  test("writes all entries in one request, and sends nothing if none changed", async () => {
    const recorded = await up(
      entries({ a: "1", b: { value: "Mg==", base64: true }, "c/d": { value: "3", metadata: { n: 1 } } }),
    );
    expect(await stored()).toEqual({ a: "1", b: "2", "c/d": "3" });
    expect(bulk()).toEqual([3]);
    expect(recorded.outputs).toMatchObject({ keys: 3, bytes: 3 });
    api.clearRequests();
    const same = await new Operation(api).preview(
      TYPE,
      entries({ "c/d": { value: "3", metadata: { n: 1 } }, b: { value: "Mg==", base64: true }, a: "1" }),
      recorded,
    );
    expect(same.step).toBe("same");
    expect(api.requests).toEqual([]);
  });

  test("adds, changes and deletes entries as needed, with one line in the preview", async () => {
    const before = await up(entries({ a: "1", b: "2", c: "3" }));
    await put({ key: "theirs", value: "x" });
    api.clearRequests();
    const op = new Operation(api);
    const after = await op.up(TYPE, entries({ a: "1", b: "two", d: "4" }), before);
    expect(op.said.join("\n")).toContain(`KvEntries ${address.namespaceId}: +1 ~1 -1 (`);
    expect(bulk()).toEqual([2]);
    expect(await stored()).toEqual({ a: "1", b: "two", d: "4", theirs: "x" });
    await new Operation(api).destroy(TYPE, after);
    expect(await stored()).toEqual({ theirs: "x" });
  });

  test("adopts existing entries that match, and refuses the others by name", async () => {
    await put({ key: "a", value: "1" }, { key: "b", value: "other" });
    const { message } = await new Operation(api).failedUp(TYPE, entries({ a: "1", b: "2", c: "3" }));
    expect(message).toMatch(
      /1 declared key already exists with different content \("b"\)\. Nothing was written\. Set adopt: "takeOver"/,
    );
    api.clearRequests();
    await up(entries({ a: "1", c: "3" }));
    expect(bulk()).toEqual([1]);
    const never = await new Operation(api).failedUp(TYPE, entries({ a: "1" }, { adopt: "never" }));
    expect(never.message).toMatch(/1 declared key already exists \("a"\)/);
    const op = new Operation(api);
    await op.up(TYPE, entries({ a: "1", b: "2", d: "4" }, { adopt: "takeOver" }));
    expect(op.warned.join("\n")).toContain(
      '2 declared keys already exist ("a", "b"); adopt: "takeOver" overwrites them.',
    );
    expect(await stored()).toEqual({ a: "1", b: "2", c: "3", d: "4" });
  });

  test("compares existing entries with as few requests as possible", async () => {
    const bytes = Buffer.of(0xff, 0x00, 0x80).toString("base64");
    const declared = entries({ a: "1", b: { value: bytes, base64: true }, c: "3", new: "4" });
    await put(
      { key: "a", value: "1" },
      { key: "b", value: bytes, base64: true },
      { key: "c", value: "3" },
      { key: "theirs", value: "5" },
    );
    const op = new Operation(api);
    const { inputs } = await op.preview(TYPE, declared);
    api.clearRequests();
    await REGISTER[TYPE]?.create(op.host, inputs);
    expect(requestsIn(api, address.namespaceId)).toEqual([
      "GET /keys",
      "POST /bulk/get",
      "GET /values/b",
      "PUT /bulk",
    ]);
    expect(api.requests[1]?.batch).toMatchObject({ entries: 2 });
    expect(bulk()).toEqual([1]);
  });

  test("fails the preview for entries over a limit, with one message per entry and without their values", async () => {
    const refusals = await new Operation(api).refusals(
      TYPE,
      entries({
        "with space": "canary-value",
        b: { value: { canary: 1 } },
        c: { value: "v", expirationTtl: 5 },
        d: { value: "v", metadata: [] },
      }),
    );
    expect(refusals).toHaveLength(4);
    expect(refusals.join("\n")).toMatch(/serialize it to a JSON string/);
    expect(refusals.join("\n")).not.toContain("canary");
    expect(await new Operation(api).refusals(TYPE, { ...address })).toEqual([
      expect.stringMatching(/set exactly one of entries, file and directory; none is set/),
    ]);
    const two = { file: "a", directory: "b" };
    expect(await new Operation(api).refusals(TYPE, { ...address, ...two })).toEqual([
      expect.stringMatching(/set exactly one of entries, file and directory; file and directory are set/),
    ]);
  });
});

describe("KvEntries with a file", () => {
  test("keeps the values out of the state, and finds no change if the content moves to another file", async () => {
    const first = join(FOLDER, "one.json");
    const second = join(FOLDER, "two.json");
    writeFileSync(
      first,
      JSON.stringify([
        { key: "a", value: "canary-one" },
        { key: "b", value: "canary-two" },
      ]),
    );
    writeFileSync(
      second,
      JSON.stringify([
        { key: "b", value: "canary-two" },
        { key: "a", value: "canary-one" },
      ]),
    );
    const recorded = await up({ ...address, file: first });
    expect(JSON.stringify(recorded)).not.toContain("canary");
    expect(await stored()).toEqual({ a: "canary-one", b: "canary-two" });
    expect(await stepOf({ ...address, file: second }, recorded)).toBe("same");
    rmSync(FOLDER, { recursive: true });
    await new Operation(api).refresh(TYPE, recorded);
    await new Operation(api).destroy(TYPE, recorded);
    expect(await stored()).toEqual({});
  });

  test("sends nothing if the file changed between preview and update", async () => {
    const file = join(FOLDER, "entries.json");
    writeFileSync(file, JSON.stringify([{ key: "a", value: "1" }]));
    const op = new Operation(api);
    const plan = await op.preview(TYPE, { ...address, file });
    writeFileSync(file, JSON.stringify([{ key: "a", value: "2" }]));
    const message = (await failureOf(Promise.resolve(REGISTER[TYPE]?.create(op.host, plan.inputs)))).message;
    expect(message).toContain("has changed since it was checked. Nothing was sent");
    expect(bulk()).toEqual([]);
  });
});

describe("a refresh of KvEntries", () => {
  test("finds drift, which the next update repairs", async () => {
    const recorded = await up(entries({ a: "1", b: "2", c: "3" }));
    await remove("a");
    const later = laterThan(recorded); // Long after our write.
    const refreshed = await new Operation(api).refresh(TYPE, later);
    expect(refreshed?.inputs).toMatchObject({ drift: "1 key missing: a" });
    api.clearRequests();
    const mended = await up(entries({ a: "1", b: "2", c: "3" }), refreshed);
    expect(bulk()).toEqual([1]);
    expect(await stored()).toEqual({ a: "1", b: "2", c: "3" });
    expect(await stepOf(entries({ a: "1", b: "2", c: "3" }), mended)).toBe("same");
  });

  test("doesn't report entries that expired on time by Cloudflare's clock", async () => {
    const at = Math.floor(Date.now() / 1000);
    const declared = entries({
      brief: { value: "1", expirationTtl: 100 },
      timed: { value: "2", expiration: at + 3600 },
      long: { value: "3", expirationTtl: 7200 },
    });
    const recorded = await up(declared);
    const later = laterThan(recorded);
    api.advance(110_000);
    api.clearRequests();
    expect((await new Operation(api).refresh(TYPE, later))?.inputs).not.toHaveProperty("drift");
    expect(Object.keys(await stored())).toEqual(["long", "timed"]);
    // An entry that's missing long before its expiration didn't expire.
    api.advance(3_600_000);
    await remove("long");
    const drifted = await new Operation(api).refresh(TYPE, later);
    expect(drifted?.inputs).toMatchObject({ drift: "1 key missing: long" });
    // TTLs don't start again, because their entries didn't change.
    api.clearRequests();
    await up(declared, recorded);
    expect(api.requests).toEqual([]);
  });

  test("reports no drift right after a write, which may not be visible yet", async () => {
    const inputs = entries({ a: "1" }, { verify: "values" });
    const recorded = await up(inputs);
    await put({ key: "a", value: "theirs" });
    api.clearRequests();
    const op = new Operation(api);
    expect((await op.refresh(TYPE, recorded))?.inputs).not.toHaveProperty("drift");
    expect(op.warned.join("")).toContain(
      "nothing was compared, because the keys were written less than 90 seconds ago",
    );
    expect(api.requests.map(({ path }) => path.split("/").at(-1))).toEqual(["keys"]);
  });

  const many = (count: number, more: object = {}): JsonObject => ({
    b: "2",
    ...Object.fromEntries(Array.from({ length: count - 1 }, (_, index) => [`k${index}`, "1"])),
    ...more,
  });
  const INSTRUCTION =
    'To compare keys and values, set verify: "values", run `pulumi up`, then refresh again.';
  test.each<
    [
      what: string,
      verify: string | undefined,
      values: JsonObject,
      requests: number,
      omits: string | undefined,
    ]
  >([
    ["1,000 keys by default", undefined, many(1000), 11, undefined],
    ["1,001 keys by default", undefined, many(1001), 2, "the values weren't compared"],
    [
      "more than 1 MiB by default",
      undefined,
      many(2, { c: "x".repeat(2 ** 20) }),
      1,
      "the values weren't compared",
    ],
    ['1,001 keys with verify: "values"', "values", many(1001), 13, undefined],
    ['2 keys with verify: "keys"', "keys", many(2), 1, "the values weren't compared"],
  ])("of %s finds a changed value, or says what finds it", async (_what, verify, values, requests, omits) => {
    const declared = entries(values, {
      __resourceName: "products",
      ...(verify === undefined ? {} : { verify }),
    });
    const recorded = await up(declared);
    await put({ key: "b", value: "theirs" });
    api.clearRequests();
    const op = new Operation(api);
    const refreshed = await op.refresh(TYPE, laterThan(recorded));
    expect(api.requests).toHaveLength(requests);
    expect(refreshed?.inputs["drift"]).toBe(omits === undefined ? "1 key changed: b" : undefined);
    expect(op.said.filter((line) => line.includes("compared"))).toEqual(
      omits === undefined ? [] : [`edgeguard: KvEntries products: ${omits}. ${INSTRUCTION}`],
    );
    if (omits === undefined) return;
    const comparing = await up({ ...declared, verify: "values" }, refreshed); // As the sentence says.
    const found = await new Operation(api).refresh(TYPE, laterThan(comparing));
    expect(found?.inputs["drift"]).toBe("1 key changed: b");
  });
});

describe("prune", () => {
  test("previews and deletes unmanaged keys under the prefix, and refuses to delete more than the limit", async () => {
    await put(...["p/x", "p/y", "q"].map((key) => ({ key, value: "theirs" })));
    const inputs = entries({ "p/a": "1" }, { prune: { prefix: "p/" } });
    const op = new Operation(api);
    await op.preview(TYPE, inputs);
    expect(op.warned.join("\n")).toContain('prune deletes 2 keys that others wrote: "p/x", "p/y"');
    const refused = await new Operation(api).failedUp(
      TYPE,
      entries({ "p/a": "1" }, { prune: { prefix: "p/", maxDeletes: 1 } }),
    );
    expect(refused.message).toMatch(
      /prune would delete 2 keys that others wrote under "p\/"; the limit is 1/,
    );
    api.clearRequests();
    const recorded = await up(inputs);
    // The preview reads the new key, lists the prefix, and reads what it found. The create writes only what it has seen.
    expect(requestsIn(api, address.namespaceId)).toEqual([
      "POST /bulk/get",
      "GET /keys",
      "POST /bulk/get",
      "GET /keys",
      "POST /bulk/get",
      "PUT /bulk",
      "POST /bulk/delete",
    ]);
    expect(await stored()).toEqual({ "p/a": "1", q: "theirs" });
    expect(await stepOf(inputs, recorded)).toBe("same");
    await put({ key: "p/z", value: "theirs" });
    expect(await stepOf(inputs, recorded)).toBe("update");
    const strict = { ...inputs, prune: { prefix: "p/", maxDeletes: 0 } };
    const unchanged = { ...recorded, outputs: { ...recorded.outputs, prune: strict.prune } };
    await expect(new Operation(api).preview(TYPE, strict, unchanged)).rejects.toThrow(
      /prune would delete 1 key that others wrote/,
    );
    api.clearRequests();
    await up(inputs, recorded);
    // Soon after a write, only a key with a value counts: one just deleted is still listed.
    expect(requestsIn(api, address.namespaceId)).toEqual([
      "GET /keys",
      "POST /bulk/get",
      "GET /keys",
      "POST /bulk/get",
      "POST /bulk/delete",
    ]);
    expect(await stored()).toEqual({ "p/a": "1", q: "theirs" });
  });
});

test("prune keeps a colleague's key that the program declares, or that another prefix leaves out", async () => {
  const recorded = await up(entries({ "p/a": "1" }, { prune: { prefix: "p/" } }));
  await put({ key: "p/alien", value: "theirs" });
  const declared = await up(
    entries({ "p/a": "1", "p/alien": "theirs" }, { prune: { prefix: "p/" } }),
    recorded,
  );
  expect(await stored()).toEqual({ "p/a": "1", "p/alien": "theirs" });
  await put({ key: "p/second", value: "theirs" });
  const narrower = entries({ "p/a": "1", "p/alien": "theirs" }, { prune: { prefix: "p/a" } });
  await up(narrower, declared);
  expect(await stored()).toEqual({ "p/a": "1", "p/alien": "theirs", "p/second": "theirs" });
});

test("prune doesn't count keys that the resource itself wrote, even right after it deleted them", async () => {
  const keys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`p/${i}`, "1"]));
  const prune = { prune: { prefix: "p/" } };
  const many = await up(entries(keys(150), prune));
  const fewer = new Operation(api);
  expect((await fewer.preview(TYPE, entries(keys(1), prune), many)).step).toBe("update");
  expect(fewer.said.join()).toContain("+0 ~0 -149");
  expect(fewer.warned).toEqual([]);

  api.lagKv(address.namespaceId, { listing: 60_000 });
  const one = await up(entries(keys(1), prune), many);
  const after = new Operation(api); // All 150 are still listed for another minute.
  expect((await after.preview(TYPE, entries(keys(1), prune), one)).step).toBe("same");
  expect(after.warned).toEqual([]);
  await up(entries(keys(2), prune), one);
  api.advance(120_000);
  expect(Object.keys(await stored()).sort()).toEqual(["p/0", "p/1"]);
});

test.each([
  ["later than its declared TTL says", 30 * 86_400, 60],
  ["sooner than its declared TTL says", 3_600, 30 * 86_400],
])("doesn't adopt an entry that expires much %s", async (_, there, declared) => {
  await put({ key: "a", value: "1", expiration_ttl: there });
  const { message } = await new Operation(api).failedUp(
    TYPE,
    entries({ a: { value: "1", expirationTtl: declared } }),
  );
  expect(message).toMatch(/1 declared key already exists with different content \("a"\)/);
});

test("prune doesn't count keys that the same update deleted, even if they're still listed", async () => {
  api.lagKv(address.namespaceId, { listing: 60_000 });
  const before = await up(entries({ "p/old": "1" }));
  api.advance(60_000); // From now on it's listed, for a minute after its deletion, too.
  const op = new Operation(api);
  await op.up(TYPE, entries({ "q/new": "2" }), before);
  api.clearRequests();
  await op.up(TYPE, entries({ "p/a": "3" }, { prune: { prefix: "p/", maxDeletes: 0 } }));
  expect(op.warned.join()).not.toContain("prune deletes");
  expect(api.requests.filter((r) => r.path.endsWith("/bulk/delete"))).toEqual([]);
});

test("deletes nothing when one resource is split in two", async () => {
  const whole = await up(entries({ a: "1", b: "2" }));
  api.clearRequests();
  const op = new Operation(api);
  const part = await op.up(TYPE, entries({ b: "2" }));
  await op.up(TYPE, entries({ a: "1" }), whole);
  expect(api.requests.filter((r) => r.path.endsWith("/bulk/delete"))).toEqual([]);
  expect(await stored()).toEqual({ a: "1", b: "2" });
  await new Operation(api).destroy(TYPE, part);
  expect(await stored()).toEqual({ a: "1" });
});
