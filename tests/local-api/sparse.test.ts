import { startLocalApi, type LocalApi } from "edgeguard-local";
import { callerOf, newPolicy, type Call } from "./client";
import { DATADOG } from "./logpush-client";

let api: LocalApi;
let call: Call;

beforeEach(async () => {
  api = await startLocalApi({ sparse: true });
  call = callerOf(api);
});
afterEach(() => api.close());

const body = async (method: string, path: string, sent?: unknown) => (await call(method, path, sent)).body;

test("sparse responses contain only what the OpenAPI document requires and what a client set", async () => {
  const zone = `/zones/${api.zones.shop}`;
  const account = `/accounts/${api.accounts.main}`;
  const namespaces = `${account}/storage/kv/namespaces`;

  expect(await body("PUT", `${zone}/page_shield`, { enabled: false })).toEqual({ success: true });
  expect(await body("POST", `${zone}/page_shield/policies`, newPolicy)).toEqual({
    success: true,
    result: { ...newPolicy, id: expect.any(String) as unknown },
  });
  expect(await body("GET", `${zone}/page_shield/scripts?per_page=1`)).toEqual({
    success: true,
    result: [
      {
        id: expect.any(String) as unknown,
        host: expect.any(String) as unknown,
        url: expect.any(String) as unknown,
        url_contains_cdn_cgi_path: false,
        added_at: expect.any(String) as unknown,
        first_seen_at: expect.any(String) as unknown,
        last_seen_at: expect.any(String) as unknown,
      },
    ],
    result_info: expect.objectContaining({ page: 1 }) as unknown,
  });

  const success = { success: true, errors: [], messages: [] };
  const jobs = `/zones/${api.zones.empty}/logpush/jobs`;
  expect(await body("POST", jobs, { destination_conf: DATADOG, name: "shop" })).toEqual(success);
  expect(await body("GET", jobs)).toEqual({
    ...success,
    result: [{ id: 102, name: "shop", destination_conf: expect.any(String) as unknown }],
  });
  expect(await body("POST", namespaces, { title: "flags" })).toEqual(success);
  expect(
    await body("PUT", `${namespaces}/${api.namespaces.existing}/bulk`, [{ key: "a", value: "1" }]),
  ).toEqual(success);
});

test("sparse error responses contain only what the OpenAPI document requires", async () => {
  const unknown = "0".repeat(32);
  const code = expect.any(Number) as unknown;
  const message = expect.any(String) as unknown;
  expect(await body("PUT", `/zones/${api.zones.shop}/page_shield`, { enabled: "no" })).toEqual({
    success: false,
    errors: [{ code: 10001, message }],
  });
  expect(await body("GET", `/accounts/${api.accounts.main}/storage/kv/namespaces/${unknown}`)).toEqual({
    success: false,
    errors: [{ code, message }],
    messages: [],
    result: null,
  });
  const phase = `/zones/${api.zones.empty}/rulesets/phases/http_request_firewall_managed/entrypoint`;
  expect(await body("GET", phase)).toEqual({
    success: false,
    errors: [{ message }],
    messages: [],
    result: null,
  });
});

test("sparse responses still contain the cursor of a listing, and the failed keys of a bulk write", async () => {
  const path = `/accounts/${api.accounts.main}/storage/kv/namespaces/${api.namespaces.existing}`;
  const pairs = Array.from({ length: 12 }, (_, index) => ({ key: `k${index}`, value: "1" }));
  api.fault({ kind: "unsuccessful", match: {}, count: 1 });
  expect(await body("PUT", `${path}/bulk`, pairs)).toMatchObject({
    result: { unsuccessful_keys: [expect.any(String)] },
  });
  expect(await body("GET", `${path}/keys?limit=10`)).toMatchObject({
    result_info: { cursor: expect.any(String) as unknown },
  });
});

test("with a listing lag, a write shows up in lists later than in reads", async () => {
  await api.close();
  let now = 0;
  api = await startLocalApi({ listLagMs: 5_000, clock: () => new Date(Date.UTC(2026, 9, 1) + now) });
  call = callerOf(api);
  const policies = `/zones/${api.zones.empty}/page_shield/policies`;
  const jobs = `/zones/${api.zones.empty}/logpush/jobs`;
  const namespaces = `/accounts/${api.accounts.main}/storage/kv/namespaces`;
  const keys = `${namespaces}/${api.namespaces.existing}/keys`;
  const ids = await Promise.all([
    call("POST", policies, newPolicy),
    call("POST", jobs, { destination_conf: DATADOG }),
    call("POST", namespaces, { title: "flags" }),
  ]).then((made) => made.map((response) => (response.body as { result: { id: string | number } }).result.id));
  await call("PUT", keys.replace("keys", "bulk"), [{ key: "new", value: "1" }]);

  const listed = async () =>
    JSON.stringify(await Promise.all([policies, jobs, namespaces, keys].map((path) => body("GET", path))));
  const shown = await listed();
  expect(ids.filter((id) => shown.includes(`"id":${JSON.stringify(id)}`))).toEqual([]);
  expect(shown).not.toContain('"new"');
  for (const [index, path] of [policies, jobs, namespaces].entries())
    expect((await call("GET", `${path}/${String(ids[index])}`)).status).toBe(200);
  now = 5_000;
  const late = await listed();
  expect(ids.filter((id) => !late.includes(`"id":${JSON.stringify(id)}`))).toEqual([]);
  expect(late).toContain('"new"');
});
