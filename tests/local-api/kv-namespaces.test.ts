import { callerOf, each, idOf, result, start } from "./client";
import { failed, kvCaller, namespacesOf } from "./kv-client";

const UNKNOWN_ID = "0".repeat(32);

test("creates, reads and renames a namespace, and deletes it with its keys", async () => {
  const api = await start();
  const call = callerOf(api);
  const path = namespacesOf(api);

  const created = await call("POST", path, { title: "prices" });
  const id = idOf(created);
  expect(created).toMatchObject({
    status: 200,
    body: { success: true, result: { title: "prices", supports_url_encoding: true } },
  });
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(result(await call("GET", `${path}/${id}`))).toEqual(result(created));

  const renamed = await call("PUT", `${path}/${id}`, { title: "prices of today" });
  expect(result(renamed)).toEqual({ id, title: "prices of today", supports_url_encoding: true });
  expect(await call("PUT", `${path}/${id}`, { title: "prices of today" })).toMatchObject({ status: 200 });
  expect(result(await call("GET", `${path}/${id}`))).toMatchObject({ title: "prices of today" });

  await kvCaller(api, id).put([{ key: "a", value: "1" }]);
  expect(await call("DELETE", `${path}/${id}`)).toMatchObject({ status: 200, body: { result: null } });
  expect(await call("GET", `${path}/${id}`)).toMatchObject(failed(404, 10013));
  expect(await call("GET", `${path}/${id}/keys`)).toMatchObject(failed(404, 10013));
  expect(await call("DELETE", `${path}/${id}`, {})).toMatchObject(failed(404, 10013));
});

test('in the "documented" dialect, a namespace has only an ID and a title, and a rename returns an empty object', async () => {
  const api = await start({ dialect: "documented" });
  const call = callerOf(api);
  const id = idOf(await call("POST", namespacesOf(api), { title: "prices" }));
  expect(result(await call("GET", `${namespacesOf(api)}/${id}`))).toEqual({ id, title: "prices" });
  expect(result(await call("PUT", `${namespacesOf(api)}/${id}`, { title: "other" }))).toEqual({});
  expect(result(await call("GET", `${namespacesOf(api)}/${id}`))).toEqual({ id, title: "other" });
});

test("rejects a namespace title that's taken, empty or longer than 512 characters", async () => {
  const api = await start();
  const call = callerOf(api);
  const path = namespacesOf(api);
  const id = idOf(await call("POST", path, { title: "x".repeat(512) }));
  expect(await call("POST", path, { title: "existing" })).toMatchObject(failed(400, 10014));
  expect(await call("PUT", `${path}/${id}`, { title: "existing" })).toMatchObject(failed(400, 10014));
  expect(await call("POST", path, { title: "" })).toMatchObject(failed(400, 10019));
  expect(await call("POST", path, {})).toMatchObject(failed(400, 10019));
  expect(await call("POST", path, { title: "x".repeat(513) })).toMatchObject(failed(400, 10012, "/title"));
  expect(await call("POST", path, { title: 5 })).toMatchObject(failed(400, 10012, "/title"));
  expect(await call("POST", path, "nonsense")).toMatchObject(failed(400, 10012));
  expect(await call("POST", path, [])).toMatchObject(failed(400, 10012));
});

test("lists namespaces page by page in the requested order, without a page count", async () => {
  const api = await start();
  const call = callerOf(api);
  const path = namespacesOf(api);
  for (const title of ["b", "c", "a"]) await call("POST", path, { title });

  expect(await call("GET", path)).toMatchObject({
    status: 200,
    body: { result_info: { page: 1, per_page: 20, count: 4, total_count: 4 } },
  });
  expect((await call("GET", path)).body).not.toHaveProperty("result_info.total_pages");
  expect(each(await call("GET", path), "title")).toEqual(["a", "b", "c", "existing"]);
  expect(each(await call("GET", `${path}?page=2&per_page=3`), "title")).toEqual(["existing"]);
  expect(each(await call("GET", `${path}?page=3&per_page=3`), "title")).toEqual([]);
  const ids = each(await call("GET", `${path}?order=id`), "id") as string[];
  expect(ids).toEqual([...ids].sort());

  for (const [query, code] of [
    ["page=0", 10007],
    ["per_page=1001", 10008],
    ["per_page=x", 10008],
    ["order=size", 10043],
  ] as const) {
    expect(await call("GET", `${path}?${query}`)).toMatchObject(failed(400, code));
  }
});

test("limits the number of namespaces in an account", async () => {
  const api = await start({ limits: { maxNamespaces: 2 } });
  const call = callerOf(api);
  expect(await call("POST", namespacesOf(api), { title: "a" })).toMatchObject({ status: 200 });
  expect(await call("POST", namespacesOf(api), { title: "b" })).toMatchObject(failed(400, 10018));
});

test("rejects requests for other accounts, with malformed IDs, with unknown methods or without permission", async () => {
  const api = await start({ credentials: [{ token: "local-token" }, { token: "reader", readOnly: true }] });
  const call = callerOf(api);
  const code = (response: unknown) =>
    (response as { body: { errors: { code: number }[] } }).body.errors[0]?.code;

  const elsewhere = await call("GET", `/accounts/${UNKNOWN_ID}/storage/kv/namespaces`);
  expect([elsewhere.status, code(elsewhere)]).toEqual([404, 7003]);
  const malformed = await call("GET", `/accounts/nobody/storage/kv/namespaces`);
  expect([malformed.status, code(malformed)]).toEqual([400, 7003]);
  const malformedNamespace = await call("GET", `${namespacesOf(api)}/xyz/keys`);
  expect([malformedNamespace.status, code(malformedNamespace)]).toEqual([400, 7003]);
  expect(await call("DELETE", `${namespacesOf(api)}/`)).toMatchObject(failed(405, 10405));
  expect(await call("PATCH", `${namespacesOf(api)}/${UNKNOWN_ID}/bulk`)).toMatchObject(failed(405, 10405));

  const path = `${namespacesOf(api)}/${api.namespaces.existing}`;
  const reader = callerOf(api, { authorization: "Bearer reader" });
  expect(await reader("GET", `${path}/keys`)).toMatchObject({ status: 200 });
  expect(await reader("PUT", `${path}/bulk`, [])).toMatchObject(failed(403, 10000));
  expect(await callerOf(api, {})("GET", `${path}/keys`)).toMatchObject(failed(400, 9106));
});

test("the initial data includes a namespace with every kind of key", async () => {
  const api = await start();
  const { keys } = await kvCaller(api, api.namespaces.existing).list();
  expect(keys).toEqual([
    { name: "config/checkout", metadata: { owner: "shop", revision: 3 } },
    { name: "feature:new-cart", expiration: 4_102_444_800 },
    { name: "greeting" },
    { name: "logo.ico" },
    { name: "straße/münchen" },
  ]);
});
