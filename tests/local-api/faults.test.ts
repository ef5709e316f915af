import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "edgeguard-local";
import { apiPerTest } from "../support/bench";
import { callerOf, controlOf, each, newPolicy, token } from "./client";
import { virtualTime } from "../support/virtual-time";

const api = apiPerTest();
const POLICIES = `/zones/${api.zones.empty}/page_shield/policies`;

const create = () => callerOf(api)("POST", POLICIES, newPolicy);
const stored = async () => each(await callerOf(api)("GET", POLICIES), "id").length;
const posts: Pick<Fault, "match"> = { match: { method: "POST" } };

test('the fault "status" returns an error with Retry-After and doesn\'t apply the request', async () => {
  api.fault({ ...posts, kind: "status", status: 429, retryAfter: 2, message: "slow down" });
  const response = await create();
  expect(response).toMatchObject({ status: 429, body: { errors: [{ code: 10429, message: "slow down" }] } });
  expect(response.headers.get("retry-after")).toBe("2");
  expect(await stored()).toBe(0);
});

test('the fault "dropBefore" drops the connection and doesn\'t apply the request', async () => {
  api.fault({ ...posts, kind: "dropBefore" });
  await expect(create()).rejects.toThrow("fetch failed");
  expect(await stored()).toBe(0);
  expect(api.requests[0]).toMatchObject({
    method: "POST",
    status: null,
    fault: "dropBefore",
    body: newPolicy,
  });
});

test('the fault "dropAfter" applies the request, then drops the connection without a response', async () => {
  api.fault({ ...posts, kind: "dropAfter" });
  await expect(create()).rejects.toThrow("fetch failed");
  expect(await stored()).toBe(1);
  expect(api.requests[0]).toMatchObject({ status: null, fault: "dropAfter" });
});

test('the fault "truncated" applies the request, sends the headers and half of the body, then drops the connection', async () => {
  api.fault({ ...posts, kind: "truncated" });
  const response = await fetch(api.url + POLICIES, {
    method: "POST",
    headers: { ...token, "content-type": "application/json" },
    body: JSON.stringify(newPolicy),
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("cf-ray")).not.toBeNull();
  await expect(response.text()).rejects.toThrow("terminated");
  expect(await stored()).toBe(1);
  expect(api.requests[0]).toMatchObject({ status: 200, fault: "truncated" });
});

test('the fault "raw" returns exactly the given text and doesn\'t apply the request', async () => {
  api.fault({ ...posts, kind: "raw", status: 502, body: "<html>Bad gateway</html>" });
  const response = await create();
  expect(response).toMatchObject({ status: 502, body: "<html>Bad gateway</html>" });
  expect(response.headers.get("content-type")).toContain("text/html");
  api.fault({
    ...posts,
    kind: "raw",
    status: 200,
    body: '{"success":false}',
    contentType: "application/json",
  });
  expect(await create()).toMatchObject({ status: 200, body: { success: false } });
  expect(await stored()).toBe(0);
});

test.each([
  ["before", 0],
  ["after", 1],
] as const)(
  "if a client gives up during a delay %s its POST is applied, %i policies exist",
  async (when, count) => {
    api.fault({ ...posts, kind: "slow", delayMs: 60_000, when });
    const patience = new AbortController();
    const impatient = fetch(api.url + POLICIES, {
      method: "POST",
      headers: { ...token, "content-type": "application/json" },
      body: JSON.stringify(newPolicy),
      signal: patience.signal,
    });
    const gaveUp = expect(impatient).rejects.toThrow("aborted");
    while (api.requests.length === 0 || (await stored()) !== count) await sleep(5);
    patience.abort();
    await gaveUp;
    expect(await stored()).toBe(count);
  },
);

test('the fault "slow" delays the usual response', async () => {
  const { waits } = virtualTime();
  api.fault({ ...posts, kind: "slow", delayMs: 60 });
  expect(await create()).toMatchObject({ status: 200 });
  expect(waits).toEqual([60]);
});

test("faults hit matching requests in the order they were added, each as many times as requested", async () => {
  api.fault({ match: { path: "policies" }, kind: "status", status: 503, times: 2 });
  api.fault({ match: { path: "/policies$" }, kind: "status", status: 500 });
  const settings = `/zones/${api.zones.empty}/page_shield`;
  expect(await callerOf(api)("GET", settings)).toMatchObject({ status: 200 });
  const statuses = [await create(), await create(), await create(), await create()].map(
    ({ status }) => status,
  );
  expect(statuses).toEqual([503, 503, 500, 200]);
});

test("faults can be cleared, and added over HTTP", async () => {
  api.fault({ match: {}, kind: "status", status: 503 });
  api.clearFaults();
  expect(await create()).toMatchObject({ status: 200 });

  const control = controlOf(api);
  expect(await control("POST", "/faults", { ...posts, kind: "status", status: 503, times: 3 })).toMatchObject(
    {
      status: 200,
    },
  );
  expect(await create()).toMatchObject({ status: 503 });
  expect((await control("GET", "/faults")).body).toMatchObject([{ status: 503, times: 2 }]);
  expect(await control("DELETE", "/faults")).toMatchObject({ status: 204 });
  expect(await create()).toMatchObject({ status: 200 });
});

test("an invalid fault is rejected when it's added", async () => {
  expect(() => api.fault({ match: { path: "(" }, kind: "dropAfter" })).toThrow("not a regular expression");
  expect(await controlOf(api)("POST", "/faults", { match: {}, kind: "explode" })).toMatchObject({
    status: 400,
  });
});
