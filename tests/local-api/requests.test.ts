import { apiPerFile } from "../support/bench";
import { callerOf, newPolicy, token } from "./client";

const api = apiPerFile({
  credentials: [
    { token: "local-token" },
    { email: "local@example.com", key: "local-key" },
    { token: "reader", readOnly: true },
  ],
  limits: { maxBodyBytes: 1000 },
});
const SETTINGS = `/zones/${api.zones.shop}/page_shield`;
beforeEach(() => api.clearRequests());

const failed = (status: number, code: number) => ({
  status,
  body: { success: false, result: null, errors: [{ code }], messages: [] },
});

describe("authentication", () => {
  const get = (headers: Record<string, string>) => callerOf(api, headers)("GET", SETTINGS);

  test("accepts a token, or an email with its API key", async () => {
    expect(await get(token)).toMatchObject({ status: 200 });
    expect(await get({ "x-auth-email": "local@example.com", "x-auth-key": "local-key" })).toMatchObject({
      status: 200,
    });
  });

  test("rejects missing, incomplete and wrong credentials as Cloudflare does", async () => {
    expect(await get({})).toMatchObject(failed(400, 9106));
    expect(await get({ "x-auth-email": "local@example.com" })).toMatchObject(failed(400, 9106));
    expect(await get({ "x-auth-email": "local@example.com", "x-auth-key": "no" })).toMatchObject(
      failed(400, 9106),
    );
    expect(await get({ authorization: "Bearer nobody" })).toMatchObject(failed(403, 10000));
    for (const authorization of ["local-token", "Bearer ", "Bearer two words", "Basic abc"]) {
      expect(await get({ authorization })).toMatchObject(failed(400, 6003));
    }
  });

  test("rejects a write with read-only credentials", async () => {
    const reader = callerOf(api, { authorization: "Bearer reader" });
    expect(await reader("GET", SETTINGS)).toMatchObject({ status: 200 });
    expect(await reader("PUT", SETTINGS, { enabled: false })).toMatchObject(failed(403, 10000));
    expect(await reader("POST", `${SETTINGS}/policies`, newPolicy)).toMatchObject(failed(403, 10000));
  });
});

describe("when a request matches no route or object", () => {
  test.each([
    ["GET", "/nowhere", 404, 7003],
    ["GET", "/zones/ABC/page_shield", 400, 7003],
    ["GET", `/zones/${"9".repeat(32)}/page_shield`, 404, 7003],
    ["PATCH", "settings", 405, 10405],
    ["DELETE", "policies/", 405, 10405],
  ])("%s %s returns %i with code %i", async (method, where, status, code) => {
    const path = where.startsWith("/") ? where : where === "settings" ? SETTINGS : `${SETTINGS}/${where}`;
    const response = await callerOf(api)(method, path);
    expect(response).toMatchObject({ status, body: { success: false, result: null } });
    expect(response).toHaveProperty("body.errors.0.code", code);
  });
});

describe("the local API", () => {
  const put = (body: string, contentType?: string) =>
    callerOf(api)("PUT", SETTINGS, body, contentType === undefined ? {} : { "content-type": contentType });

  test("rejects a body that isn't JSON, or has another Content-Type", async () => {
    expect(await put("{enabled}")).toMatchObject(failed(400, 10001));
    expect(await put("[]")).toMatchObject(failed(400, 10001));
    expect(await put('{"enabled":true}', "text/plain")).toMatchObject(failed(415, 10415));
    expect(await put('{"enabled":true}', "application/json; charset=utf-8")).toMatchObject({ status: 200 });
  });

  test("rejects a body above the size limit", async () => {
    expect(await put(JSON.stringify({ enabled: true, padding: "x".repeat(1000) }))).toMatchObject(
      failed(413, 10413),
    );
  });
});

describe("the request log", () => {
  test("records each request and its response, in order", async () => {
    await callerOf(api)("PUT", SETTINGS, { enabled: true }, { "user-agent": "tests/1" });
    await callerOf(api)("GET", `${SETTINGS}/scripts?hosts=a,b&page=2`);
    expect(api.requests).toMatchObject([
      {
        method: "PUT",
        path: SETTINGS,
        query: {},
        body: { enabled: true },
        status: 200,
        userAgent: "tests/1",
        contentType: "application/json",
        at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      },
      { method: "GET", path: `${SETTINGS}/scripts`, query: { hosts: "a,b", page: "2" }, status: 200 },
    ]);
    expect(api.requests[1]).not.toHaveProperty("body");
  });

  test("records the kind of credential, never its value", async () => {
    await callerOf(api)("GET", SETTINGS);
    await callerOf(api, { "x-auth-email": "local@example.com", "x-auth-key": "local-key" })("GET", SETTINGS);
    await callerOf(api, {})("GET", SETTINGS);
    expect(api.requests.map(({ credential }) => credential)).toEqual(["token", "key", "none"]);
    expect(JSON.stringify(api.requests)).not.toMatch(/local-token|local-key|local@example/);
  });

  test("is still the same array after it's cleared", async () => {
    const { requests } = api;
    await callerOf(api)("GET", SETTINGS);
    expect(requests).toHaveLength(1);
    api.clearRequests();
    expect(requests).toHaveLength(0);
  });
});

test("every response has a request ID, including errors", async () => {
  const good = await callerOf(api)("GET", SETTINGS);
  const refused = await callerOf(api, {})("GET", "/nowhere");
  expect(good.headers.get("cf-ray")).toMatch(/^[0-9a-f]{16}-LOC$/);
  expect(refused.headers.get("cf-ray")).toMatch(/^[0-9a-f]{16}-LOC$/);
  expect(refused.headers.get("cf-ray")).not.toBe(good.headers.get("cf-ray"));
});
