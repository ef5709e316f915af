import { apiPerTest } from "../support/bench";
import { remove, type BulkOutcome, type RemoveRequest } from "../../provider/kv/bulk";
import {
  emptyNamespace,
  fill,
  keyAt,
  manyEntries,
  mostInFlight,
  sentBatches,
  contextFor,
  storedKeys,
} from "./upload-support";

const api = apiPerTest();
const place = { accountId: api.accounts.main, namespaceId: api.namespaces.existing };
beforeEach(() => void emptyNamespace(api));

async function filled(count: number): Promise<string[]> {
  await fill(api, place, manyEntries(count));
  api.clearRequests();
  return Array.from({ length: count }, (_, i) => keyAt(i));
}

async function removed(
  keys: RemoveRequest["keys"],
  ctx: RemoveRequest["ctx"],
  where = place,
): Promise<BulkOutcome & { readonly confirmed: string[] }> {
  const confirmed: string[] = [];
  const onDone = (gone: readonly string[]) => void confirmed.push(...gone);
  const outcome = await remove({ ctx, ...where, keys, onDone });
  expect(outcome.done).toBe(confirmed.length);
  return { ...outcome, confirmed };
}

test("a bulk delete sends 10,000 keys per request, several requests at once, and deletes no other keys", async () => {
  const keys = await filled(35_001);
  api.fault({ match: {}, kind: "slow", delayMs: 100, times: 4 });
  const outcome = await removed(keys.slice(1), contextFor(api).ctx);
  expect(outcome).toMatchObject({ done: 35_000, failed: [] });
  expect(sentBatches(api).sort()).toEqual(
    [10_000, 10_000, 10_000, 5_000].map((n) => `POST bulk/delete ${n}`),
  );
  expect(mostInFlight(api, () => 1)).toBe(4);
  expect(storedKeys(api)).toEqual([keyAt(0)]);
});

test("a bulk delete counts a missing key as deleted", async () => {
  expect(await removed(["never", "written"], contextFor(api).ctx)).toMatchObject({ done: 2, failed: [] });
});

test("a bulk delete fails with Cloudflare's message if the API has no such endpoint", async () => {
  api.fault({ match: {}, kind: "status", status: 405, times: 9 });
  const { error } = await removed(["a"], contextFor(api).ctx);
  expect(error?.message).toContain(`Deleting key "a" from namespace ${place.namespaceId} failed: POST `);
});

test("a bulk delete counts all keys in a missing namespace as deleted after one request", async () => {
  const gone = { ...place, namespaceId: "0".repeat(32) };
  const { ctx } = contextFor(api, { config: { concurrency: "1" } });
  const keys = Array.from({ length: 30_000 }, (_, i) => keyAt(i));
  expect(await removed(keys, ctx, gone)).toMatchObject({ done: 30_000, failed: [] });
  expect(sentBatches(api)).toEqual(["POST bulk/delete 10000"]);
});

test.each(["dropBefore", "dropAfter"] as const)(
  "a bulk delete is retried after a lost connection (%s)",
  async (kind) => {
    const keys = await filled(10);
    api.fault({ match: {}, kind });
    expect(await removed(keys, contextFor(api).ctx)).toMatchObject({ done: 10, failed: [] });
    expect(sentBatches(api)).toEqual(["POST bulk/delete 10", "POST bulk/delete 10"]);
    expect(storedKeys(api)).toEqual([]);
  },
);

test("a bulk delete resends only the keys that failed, and names those that keep failing", async () => {
  const keys = await filled(100);
  api.fault({ match: {}, kind: "unsuccessful", keys: [keyAt(7)], times: 9 });
  const outcome = await removed(keys, contextFor(api).ctx);
  expect(outcome).toMatchObject({ done: 99, failed: [{ key: keyAt(7) }] });
  expect(sentBatches(api)).toEqual(["POST bulk/delete 100", ...Array<string>(3).fill("POST bulk/delete 1")]);
  expect(storedKeys(api)).toEqual([keyAt(7)]);
});

test("a bulk delete reports how many keys were deleted before a failure", async () => {
  const keys = await filled(30_000);
  api.fault({ match: {}, kind: "slow", delayMs: 0 });
  api.fault({ match: {}, kind: "status", status: 500, times: 9 });
  const { ctx } = contextFor(api, { config: { maxRetries: "0", concurrency: "1" } });
  const outcome = await removed(keys, ctx);
  expect(outcome).toMatchObject({ done: 10_000, error: { status: 500 } });
  expect(storedKeys(api)).toHaveLength(20_000);
  expect(api.requests).toHaveLength(2);
});
