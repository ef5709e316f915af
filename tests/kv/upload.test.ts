import { type Fault, type LocalApi, startLocalApi } from "edgeguard-local";
import { RETRY } from "../../provider/api/retry";
import type { Row } from "../../provider/kv/catalog";
import type { Entry } from "../../provider/kv/entry";
import { SourceError } from "../../provider/kv/source-handle";
import { upload, type BulkOutcome, type UploadRequest } from "../../provider/kv/bulk";
import { KV } from "../../provider/limits";
import { envelope, serve, until } from "../support/edge-client";
import { LONG } from "../support/long";
import {
  uploadOf,
  emptyNamespace,
  keyAt,
  manyEntries,
  mostInFlight,
  sentBatches,
  contextFor,
  stored,
  storedKeys,
  textEntry,
} from "./upload-support";

let api: LocalApi;
let place: { accountId: string; namespaceId: string };
const start = async (options: Parameters<typeof startLocalApi>[0] = {}) => {
  api = await startLocalApi(options);
  place = emptyNamespace(api);
};
beforeEach(() => start());
afterEach(() => api.close());

/** A tenth of Cloudflare's limit, which behaves the same in a tenth of the time. */
const BATCH = 1_000;
const FULL_BATCH = KV.MAX_BULK_ENTRIES;
beforeEach(() => {
  jest.replaceProperty(KV, "MAX_BULK_ENTRIES", BATCH as never);
  jest.replaceProperty(RETRY, "baseDelayMs", 5 as never);
});
afterEach(() => void jest.restoreAllMocks());

type Outcome = BulkOutcome & { readonly confirmed: string[] };

/** Uploads, and checks that what was confirmed is what was counted. */
async function uploaded(
  given: Iterable<Entry> | Pick<UploadRequest, "entries" | "rows">,
  ctx: UploadRequest["ctx"],
  where = place,
): Promise<Outcome> {
  const confirmed: string[] = [];
  const work = "rows" in given ? given : uploadOf(given);
  const onDone = (rows: readonly Row[]) => void confirmed.push(...rows.map(({ key }) => key));
  const outcome = await upload({ ctx, ...where, ...work, onDone });
  expect(outcome.done).toBe(confirmed.length);
  expect(new Set(confirmed).size).toBe(confirmed.length);
  return { ...outcome, confirmed };
}

const failOn = (fault: Omit<Extract<Fault, { kind: "status" }>, "match" | "kind">) =>
  api.fault({ match: { method: "PUT", path: "/bulk" }, kind: "status", ...fault });

describe("an upload", () => {
  test("writes entries as declared, with the API's names", async () => {
    const { ctx } = contextFor(api);
    const entries: Entry[] = [
      textEntry("text", "Grüß Gott"),
      { key: "straße/1", value: "AAEC/w==", base64: true, metadata: { owner: "shop", tags: ["a"] } },
      { key: "expires", value: "v", base64: false, expiration: 4_102_444_800 },
      { key: "lives", value: "v", base64: false, expirationTtl: 600 },
    ];
    const before = Math.floor(Date.now() / 1000);
    const times: number[] = [];
    const outcome = await upload({
      ctx,
      ...place,
      ...uploadOf(entries),
      onDone: (_, at) => void times.push(at),
    });
    expect(outcome).toEqual({ done: 4, failed: [] });
    expect(times).toHaveLength(1);
    expect(times[0]).toBeGreaterThanOrEqual(before);
    expect(sentBatches(api)).toEqual(["PUT bulk 4"]);
    expect(Object.fromEntries(stored(api).map((entry) => [entry.key, entry]))).toEqual({
      text: { key: "text", value: "Grüß Gott" },
      "straße/1": {
        key: "straße/1",
        value: "AAEC/w==",
        base64: true,
        metadata: { owner: "shop", tags: ["a"] },
      },
      expires: { key: "expires", value: "v", expiration: 4_102_444_800 },
      lives: { key: "lives", value: "v", expiration: expect.any(Number) as number },
    });
  });

  test("sends no request if there are no entries", async () => {
    expect(await uploaded([], contextFor(api).ctx)).toMatchObject({ done: 0, failed: [] });
    expect(api.requests).toHaveLength(0);
  });

  const whole = LONG ? 100_000 : 10_000;
  test(`writes ${LONG ? "100,000 entries" : "10,000 entries, a tenth to a request,"} in 10 to 13 requests, at least 4 and at most 8 of them in flight`, async () => {
    await api.close();
    if (LONG) jest.replaceProperty(KV, "MAX_BULK_ENTRIES", FULL_BATCH);
    await start({ latencyMs: 500 }); // Much longer than building a batch takes, on a busy machine, too.
    const outcome = await uploaded(manyEntries(whole), contextFor(api).ctx);
    expect(outcome).toMatchObject({ done: whole, failed: [] });
    expect(outcome.error).toBeUndefined();
    expect(api.requests.length).toBeGreaterThanOrEqual(10);
    expect(api.requests.length).toBeLessThanOrEqual(13);
    const most = mostInFlight(api, () => 1);
    expect(most).toBeGreaterThanOrEqual(4);
    expect(most).toBeLessThanOrEqual(8);
    expect(storedKeys(api)).toHaveLength(whole);
  });

  test("reports the progress of a long upload", async () => {
    const { ctx, said } = contextFor(api, { config: { concurrency: "1" } });
    const time = jest.spyOn(performance, "now");
    let at = 0;
    time.mockImplementation(() => at);
    const { entries, rows } = uploadOf(manyEntries(3_000), () => (at += 6_000));
    expect(await uploaded({ entries, rows }, ctx)).toMatchObject({ done: 3_000 });
    expect(said).toEqual([
      `edgeguard: KvEntries ${place.namespaceId}: 1,000 of 3,000 entries written`,
      `edgeguard: KvEntries ${place.namespaceId}: 2,000 of 3,000 entries written`,
    ]);
  });

  test("never exceeds the memory limit for bodies, whatever the concurrency", async () => {
    await api.close();
    await start({ latencyMs: 100, kvStore: "digests" });
    // Limits and values of a sixteenth behave the same.
    jest.replaceProperty(KV, "BATCH_BYTES", KV.BATCH_BYTES / 16);
    jest.replaceProperty(KV, "IN_FLIGHT_BYTES", KV.IN_FLIGHT_BYTES / 16);
    const value = "x".repeat((6 * 1024 * 1024) / 16);
    let made = 0;
    let confirmed = 0;
    let ahead = 0;
    const large = Array.from({ length: 20 }, (_, i) => textEntry(keyAt(i), value));
    const outcome = await upload({
      ctx: contextFor(api, { config: { concurrency: "32" } }).ctx,
      ...place,
      ...uploadOf(large, (keys) => (ahead = Math.max(ahead, (made += keys.length) - confirmed))),
      onDone: (written) => void (confirmed += written.length),
    });
    expect(outcome).toEqual({ done: 20, failed: [] });
    const bytes = mostInFlight(api, ({ batch }) => batch?.bytes ?? 0);
    expect(bytes).toBeLessThanOrEqual(KV.IN_FLIGHT_BYTES);
    expect(bytes).toBeGreaterThan(KV.IN_FLIGHT_BYTES / 2);
    expect(ahead * value.length).toBeLessThanOrEqual(KV.IN_FLIGHT_BYTES);
  });
});

describe("an upload with retries", () => {
  const wholly = async (requests: number, config: Readonly<Record<string, string>> = {}) => {
    const outcome = await uploaded(manyEntries(5_000), contextFor(api, { config }).ctx);
    expect(outcome).toMatchObject({ done: 5_000, failed: [] });
    expect(outcome.error).toBeUndefined();
    expect(api.requests).toHaveLength(requests);
    expect(new Set(storedKeys(api))).toEqual(new Set(outcome.confirmed));
  };

  test("succeeds despite many 429 responses", async () => {
    failOn({ status: 429, times: 9 });
    await wholly(5 + 9, { maxRetries: "10" });
  });

  test("succeeds despite a 500 on the third batch", async () => {
    api.fault({ match: {}, kind: "slow", delayMs: 0, times: 2 });
    failOn({ status: 500 });
    await wholly(5 + 1);
  });

  test.each(["dropBefore", "dropAfter", "truncated"] as const)(
    "succeeds despite a lost response (%s)",
    async (kind) => {
      api.fault({ match: { path: "/bulk" }, kind, times: 2 });
      await wholly(5 + 2);
    },
  );
});

describe("an upload that keeps failing", () => {
  test("stops sending batches, finishes those in flight, and reports what was written", async () => {
    api.fault({ match: {}, kind: "slow", delayMs: 300, times: 2 });
    failOn({ status: 500, times: 100 });
    const { ctx } = contextFor(api, { config: { maxRetries: "0", concurrency: "3" } });
    const outcome = await uploaded(manyEntries(8_000), ctx);
    expect(outcome).toMatchObject({ done: 2_000, failed: [] });
    expect(outcome.error?.message).toMatch(
      new RegExp(`^Writing 1000 entries to namespace ${place.namespaceId} failed: PUT .*returned 500`),
    );
    expect(api.requests).toHaveLength(3);
    expect(storedKeys(api).sort()).toEqual(outcome.confirmed.sort());
  });

  test("is completed by the next upload", async () => {
    api.fault({ match: {}, kind: "slow", delayMs: 100, times: 3 });
    failOn({ status: 503, times: 2 });
    const { ctx } = contextFor(api, { config: { maxRetries: "0" } });
    const first = await uploaded(manyEntries(5_000), ctx);
    expect(first.error).toBeDefined();
    expect(first.done).toBe(3_000);
    const confirmed = new Set(first.confirmed);
    const rest = [...manyEntries(5_000)].filter(({ key }) => !confirmed.has(key));
    api.clearRequests();
    expect(await uploaded(rest, ctx)).toMatchObject({ done: 2_000 });
    expect(sentBatches(api)).toEqual(["PUT bulk 1000", "PUT bulk 1000"]);
    expect(storedKeys(api)).toHaveLength(5_000);
  });

  test("counts a batch with an unknown outcome as not written", async () => {
    api.fault({ match: {}, kind: "dropAfter" });
    const { ctx } = contextFor(api, { config: { maxRetries: "0" } });
    const outcome = await uploaded(manyEntries(10), ctx);
    expect(outcome).toMatchObject({ done: 0, failed: [], error: { outcome: "unknown" } });
    expect(storedKeys(api)).toHaveLength(10);
  });

  test("reports that the namespace is missing", async () => {
    const gone = { ...place, namespaceId: "0".repeat(32) };
    const { error } = await uploaded(manyEntries(1), contextFor(api).ctx, gone);
    expect(error?.message).toContain(`Writing key "${keyAt(0)}" to namespace ${gone.namespaceId} failed: `);
    expect(error?.message).toContain("[code 10013]");
    expect(error?.message).toContain(
      "Check namespaceId. If the namespace was deleted elsewhere, run `pulumi refresh`",
    );
  });

  test("counts what was written before its source changed", async () => {
    const { rows, entries } = uploadOf(manyEntries(2_500));
    const fill: typeof entries.fill = (body, some) =>
      some.some(({ key }) => key === keyAt(2_000))
        ? Promise.reject(new SourceError("catalog.json has changed since it was checked"))
        : entries.fill(body, some);
    const outcome = await uploaded({ rows, entries: { ...entries, fill } }, contextFor(api).ctx);
    expect(outcome).toMatchObject({
      done: 2_000,
      error: { message: "catalog.json has changed since it was checked" },
    });
  });

  test("stops building request bodies after a failure", async () => {
    failOn({ status: 400 });
    let made = 0;
    const { ctx } = contextFor(api, { config: { concurrency: "1" } });
    const { error } = await uploaded(
      uploadOf(manyEntries(10_000), () => (made += 1)),
      ctx,
    );
    expect(error).toMatchObject({ status: 400 });
    expect(made).toBe(1);
    expect(api.requests).toHaveLength(1);
  });
});

describe("a body that's too large (413)", () => {
  test("is split in half until it's accepted", async () => {
    failOn({ status: 413, times: 3 });
    const { ctx } = contextFor(api);
    expect(await uploaded(manyEntries(1_000), ctx)).toMatchObject({ done: 1_000, failed: [] });
    expect(sentBatches(api)).toEqual([1_000, 500, 250, 125, 125, 250, 500].map((n) => `PUT bulk ${n}`));
    expect(storedKeys(api)).toHaveLength(1_000);
  });

  test("is split down to the entry that's too large, and the error names that entry and the reason", async () => {
    failOn({ status: 413, code: 10_024, message: "payload too large", times: 3 });
    const outcome = await uploaded(manyEntries(4), contextFor(api).ctx);
    expect(outcome).toMatchObject({ done: 3, failed: [{ key: keyAt(0) }] });
    expect(outcome.error).toBeUndefined();
    expect(outcome.failed[0]?.reason).toMatch(
      new RegExp(
        `^Writing key "${keyAt(0)}" to namespace .* returned 413 .*payload too large \\[code 10024\\]`,
      ),
    );
    expect(sentBatches(api)).toEqual([4, 2, 1, 1, 2].map((n) => `PUT bulk ${n}`));
  });
});

describe("an upload with unsuccessful_keys", () => {
  const unsuccessful = (fault: { keys?: string[]; fraction?: number; times?: number }) =>
    api.fault({ match: {}, kind: "unsuccessful", ...fault });

  test("resends only those keys", async () => {
    unsuccessful({ fraction: 0.5, times: 3 });
    const { ctx, pauses } = contextFor(api);
    const outcome = await uploaded(manyEntries(1_000), ctx);
    expect(outcome).toMatchObject({ done: 1_000, failed: [] });
    expect(sentBatches(api)).toEqual([1_000, 500, 250, 125].map((n) => `PUT bulk ${n}`));
    expect(pauses).toEqual([1_000, 2_000, 4_000]);
    expect(storedKeys(api)).toHaveLength(1_000);
  });

  test("names the keys that keep failing, and writes everything else", async () => {
    unsuccessful({ keys: [keyAt(3), keyAt(1_200)], times: 100 });
    const outcome = await uploaded(manyEntries(2_000), contextFor(api).ctx);
    expect(outcome.error).toBeUndefined();
    expect(outcome.done).toBe(1_998);
    const reason = "Cloudflare rejected the key 4 times without giving a reason.";
    expect([...outcome.failed].sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual([
      { key: keyAt(3), reason },
      { key: keyAt(1_200), reason },
    ]);
    expect(api.requests).toHaveLength(2 * 4);
  });
});

describe("the response to a write", () => {
  test.each([null, {}, "success", { successful_key_count: 2, unsuccessful_keys: null }])(
    "may be %j",
    async (result) => {
      const server = await serve((request, response) => {
        request.resume().on("end", () => response.end(envelope(result)));
      });
      expect(await uploaded(manyEntries(2), contextFor(server).ctx)).toMatchObject({ done: 2, failed: [] });
    },
  );

  test("doesn't count as a success if it can't be read", async () => {
    const server = await serve((request, response) => {
      request.resume().on("end", () => response.end(envelope({ unsuccessful_keys: [1] })));
    });
    const outcome = await uploaded(manyEntries(2), contextFor(server).ctx);
    expect(outcome).toMatchObject({ done: 0, error: { outcome: "unknown" } });
  });
});

describe("a cancelled operation", () => {
  test("finishes the requests in flight, and starts no others", async () => {
    api.fault({ match: {}, kind: "slow", delayMs: 300, times: 100 });
    const closing = new AbortController();
    const { ctx } = contextFor(api, { closing: closing.signal, config: { concurrency: "2" } });
    const running = uploaded(manyEntries(8_000), ctx);
    await until(() => api.requests.length === 2);
    closing.abort();
    expect(await running).toMatchObject({ done: 2_000, failed: [], error: { name: "CancelledError" } });
    expect(api.requests).toHaveLength(2);
  });

  test("counts only confirmed entries if it's aborted", async () => {
    api.fault({ match: {}, kind: "slow", delayMs: 5_000, times: 100 });
    const gone = new AbortController();
    const { ctx } = contextFor(api, { signal: gone.signal });
    const running = uploaded(manyEntries(2_000), ctx);
    await until(() => api.requests.length === 2);
    gone.abort();
    expect(await running).toMatchObject({ done: 0, failed: [], error: { name: "CancelledError" } });
  });
});

test("an upload shows no value in any message, error or debug line", async () => {
  const canary = "canary-4711";
  const entries = Array.from({ length: 4 }, (_, i) => textEntry(keyAt(i), `${canary} ${i}`));
  const { ctx, said } = contextFor(api, { env: { EDGEGUARD_DEBUG: "1" }, config: { maxRetries: "0" } });
  failOn({ status: 413, times: 3 });
  const refused = await uploaded(entries, ctx);
  api.fault({ match: {}, kind: "unsuccessful", fraction: 1, times: 4 });
  const unsuccessful = await uploaded(entries, ctx);
  const failures: BulkOutcome[] = [];
  for (const status of [400, 500]) {
    failOn({ status });
    failures.push(await uploaded(entries, ctx));
  }
  api.fault({ match: {}, kind: "dropAfter" });
  failures.push(await uploaded(entries, ctx));
  expect(failures.map(({ error }) => error?.name)).toEqual(["ApiError", "ApiError", "ApiError"]);
  const texts = [
    ...said,
    ...[refused, unsuccessful].flatMap(({ failed }) => failed.map(({ reason }) => reason)),
    ...failures.map(({ error }) => `${error?.message ?? ""} ${JSON.stringify(error)}`),
  ];
  expect(texts.length).toBeGreaterThan(10);
  expect(texts.join("\n")).not.toContain(canary);
});
