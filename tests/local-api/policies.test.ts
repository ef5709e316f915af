import type { Dialect } from "edgeguard-local";
import { apiPerTest } from "../support/bench";
import { callerOf, each, idOf, newPolicy, result, start } from "./client";

describe.each<[Dialect, "string" | "boolean"]>([
  ["documented", "string"],
  ["openapi", "boolean"],
])("the policy API in the %s dialect", (dialect, form) => {
  const api = apiPerTest({ dialect });
  const call = callerOf(api);
  const path = `/zones/${api.zones.empty}/page_shield/policies`;
  const wire = (enabled: boolean) => (form === "string" ? String(enabled) : enabled);

  test("creates a policy with an ID that the API assigns, and reads and lists it", async () => {
    const created = await call("POST", path, { ...newPolicy, id: "f".repeat(32) });
    expect(created).toMatchObject({ status: 200, body: { result: { ...newPolicy, enabled: wire(true) } } });
    expect(idOf(created)).toMatch(/^[0-9a-f]{32}$/);
    expect(idOf(created)).not.toBe("f".repeat(32));
    expect(result(await call("GET", `${path}/${idOf(created)}`))).toEqual(result(created));
    expect((await call("GET", path)).body).toMatchObject({ result: [result(created)] });
  });

  test("lists policies in the order of their creation, with the dialect's result_info", async () => {
    const first = idOf(await call("POST", path, newPolicy));
    const second = idOf(await call("POST", path, newPolicy));
    const list = await call("GET", path);
    expect(each(list, "id")).toEqual([first, second]);
    const info = { page: 1, per_page: 2, count: 2, total_count: 2, total_pages: 1 };
    expect(list.body).toEqual(
      expect.objectContaining(dialect === "openapi" ? { result_info: info } : { success: true }),
    );
    if (dialect === "documented") expect(list.body).not.toHaveProperty("result_info");
  });

  test.each([
    ["expression", "http.host eq shop.example"],
    ["expression", ""],
    ["value", ""],
    ["value", "script-src größe.example"],
    ["value", "'self'; script-src"],
  ])(
    "rejects a policy with an invalid %s, %j, on POST and PUT, with a pointer to it",
    async (member, wrong) => {
      const id = idOf(await call("POST", path, newPolicy));
      const refused = { status: 400, body: { errors: [{ code: 10001, source: { pointer: `/${member}` } }] } };
      expect(await call("POST", path, { ...newPolicy, [member]: wrong })).toMatchObject(refused);
      expect(await call("PUT", `${path}/${id}`, { [member]: wrong })).toMatchObject(refused);
      expect(each(await call("GET", path), member)).toEqual([newPolicy[member as keyof typeof newPolicy]]);
    },
  );

  test(`accepts enabled as a string or a boolean, and returns a ${form}`, async () => {
    for (const enabled of [true, "true", false, "false"]) {
      const created = await call("POST", path, { ...newPolicy, enabled });
      expect(result(created)["enabled"]).toBe(wire(String(enabled) === "true"));
    }
  });

  test("changes only the properties that a PUT contains", async () => {
    const id = idOf(await call("POST", path, newPolicy));
    expect(result(await call("PUT", `${path}/${id}`, { action: "log", enabled: false }))).toEqual({
      ...newPolicy,
      id,
      action: "log",
      enabled: wire(false),
    });
  });

  test("stores and returns unknown properties of a policy", async () => {
    const id = idOf(await call("POST", path, { ...newPolicy, report_group: "csp", weight: 3 }));
    await call("PUT", `${path}/${id}`, { weight: 4 });
    expect(result(await call("GET", `${path}/${id}`))).toMatchObject({ report_group: "csp", weight: 4 });
  });

  test("rejects a body without required properties, with a pointer to each", async () => {
    const response = await call("POST", path, { description: "x", action: "block" });
    expect(response).toMatchObject({
      status: 400,
      body: {
        errors: ["/action", "/expression", "/enabled", "/value"].map((pointer) => ({
          code: 10001,
          source: { pointer },
        })),
      },
    });
  });

  test("returns 404 for an unknown policy ID and a routing error for a malformed one", async () => {
    const unknown = { status: 404, body: { success: false, result: null, errors: [{ code: 10004 }] } };
    expect(await call("GET", `${path}/${"0".repeat(32)}`)).toMatchObject(unknown);
    expect(await call("PUT", `${path}/${"0".repeat(32)}`, newPolicy)).toMatchObject(unknown);
    expect(await call("GET", `${path}/xyz`)).toMatchObject({
      status: 400,
      body: { errors: [{ code: 7003 }, { code: 7000 }] },
    });
  });

  test("returns the dialect's response when a policy is deleted, and when it's already gone", async () => {
    const id = idOf(await call("POST", path, newPolicy));
    const first = await call("DELETE", `${path}/${id}`);
    const second = await call("DELETE", `${path}/${id}`);
    if (dialect === "openapi") {
      expect([first, second]).toMatchObject([
        { status: 204, body: undefined },
        { status: 204, body: undefined },
      ]);
    } else {
      expect(first).toMatchObject({ status: 200, body: { success: true, result: { id } } });
      expect(second).toMatchObject({ status: 404 });
    }
    expect(each(await call("GET", path), "id")).toEqual([]);
  });

  test("rejects policies above the quota, which is zero on the free plan", async () => {
    const free = `/zones/${api.zones.free}/page_shield/policies`;
    const { body, status } = await call("POST", free, newPolicy);
    expect(status).toBe(400);
    expect(body).toMatchObject({
      errors: [
        {
          message: "exceeded the maximum number of rules in the phase http_response_page_shield: 1 out of 0",
        },
      ],
    });
  });

  test("in strict mode, rejects the other dialect's type of enabled", async () => {
    const strict = await start({ dialect, strict: true });
    const enabled = form === "string" ? true : "true";
    expect(await callerOf(strict)("POST", path, { ...newPolicy, enabled })).toMatchObject({
      status: 400,
      body: { errors: [{ source: { pointer: "/enabled" } }] },
    });
    expect(await callerOf(strict)("POST", path, { ...newPolicy, enabled: wire(true) })).toMatchObject({
      status: 200,
    });
  });
});

test("the policy quota is configurable", async () => {
  const api = await start({ limits: { maxPolicies: { free: 0, pro: 0, business: 0, enterprise: 1 } } });
  const path = `/zones/${api.zones.empty}/page_shield/policies`;
  expect(await callerOf(api)("POST", path, newPolicy)).toMatchObject({ status: 200 });
  expect((await callerOf(api)("POST", path, newPolicy)).body).toMatchObject({
    errors: [{ message: expect.stringContaining("2 out of 1") as string }],
  });
});
