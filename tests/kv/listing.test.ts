import { type LocalApi, startLocalApi } from "edgeguard-local";
import { listKeys } from "../../provider/kv/listing";
import { envelope, failureOf, serve } from "../support/edge-client";
import { all, emptyNamespace, fill, keyAt, manyEntries, contextFor } from "./upload-support";

let api: LocalApi;
let place: { accountId: string; namespaceId: string };
const start = async (options: Parameters<typeof startLocalApi>[0] = {}) => {
  api = await startLocalApi(options);
  place = { accountId: api.accounts.main, namespaceId: api.namespaces.existing };
};
beforeEach(() => start());
afterEach(() => api.close());

const listed = (more: { prefix?: string; limit?: number } = {}) =>
  all(listKeys(contextFor(api).ctx.api, { ...place, ...more }));

test("listKeys returns names, expirations and metadata", async () => {
  expect(await listed()).toEqual([
    { name: "config/checkout", metadata: { owner: "shop", revision: 3 } },
    { name: "feature:new-cart", expiration: 4_102_444_800 },
    { name: "greeting" },
    { name: "logo.ico" },
    { name: "straße/münchen" },
  ]);
  expect(api.requests.map(({ query }) => query)).toEqual([{ limit: "1000" }]);
});

test("listKeys requests 1,000 keys at a time and follows the cursor", async () => {
  emptyNamespace(api);
  await fill(api, place, manyEntries(2_500));
  api.clearRequests();
  const names = (await listed()).map(({ name }) => name);
  expect(names).toEqual(Array.from({ length: 2_500 }, (_, i) => keyAt(i)));
  expect(api.requests).toHaveLength(3);
  api.clearRequests();
  expect(await listed({ limit: 10, prefix: "catalog/item-000000" })).toHaveLength(100);
  expect(api.requests.map(({ query }) => query["prefix"])).toEqual(
    Array<string>(10).fill("catalog/item-000000"),
  );
});

test("listKeys returns only keys with the prefix, or all if the prefix is empty", async () => {
  expect(await listed({ prefix: "straße/" })).toEqual([{ name: "straße/münchen" }]);
  expect(await listed({ prefix: "" })).toHaveLength(5);
  expect(api.requests[1]?.query).toEqual({ limit: "1000" });
});

test("listKeys continues after a page without keys", async () => {
  await api.close();
  await start({ kvEmptyPages: 2 });
  expect(await listed()).toHaveLength(5);
  expect(api.requests).toHaveLength(3);
});

test("listKeys accepts an expiration in seconds or as a date", async () => {
  const keys = [
    { name: "number", expiration: 1_700_000_000 },
    { name: "time", expiration: "2023-11-14T22:13:20Z" },
    { name: "none", expiration: null, metadata: null },
  ];
  const server = await serve((_request, response) => void response.end(envelope(keys)));
  expect(await all(listKeys(contextFor(server).ctx.api, place))).toEqual([
    { name: "number", expiration: 1_700_000_000 },
    { name: "time", expiration: 1_700_000_000 },
    { name: "none" },
  ]);
});

test("listKeys refuses an expiration in any other form", async () => {
  const server = await serve(
    (_request, response) => void response.end(envelope([{ name: "a", expiration: "soon" }])),
  );
  const failure = await failureOf(all(listKeys(contextFor(server).ctx.api, place)));
  expect(failure.message).toContain("is neither a number of seconds nor a date");
});
