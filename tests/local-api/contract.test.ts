import {
  type LocalApi,
  managedRulesets,
  OWASP_SCORE_RULE,
  seededRules,
  startLocalApi,
} from "edgeguard-local";
import { z } from "zod";
import { openContract } from "../support/openapi";
import { type ApiResponse, callerOf, each, idOf, newPolicy, result, token } from "./client";
import { DATADOG, newJob } from "./logpush-client";

const contract = openContract();
/** What the provider never calls, the local API doesn't serve. */
const NOT_SERVED = /\/logpush\/.*validate|^(PUT|DELETE) .*\/rulesets\/\{ruleset_id\}$/;
const withContract = contract === undefined ? describe.skip : describe;

withContract.each([
  ["the local API in its openapi dialect", false],
  ["the local API in its openapi dialect, leaving out every optional member", true],
])("%s", (_name, sparse) => {
  let api: LocalApi;
  const judged: { operation: string; failed: boolean }[] = [];

  beforeAll(async () => {
    api = await startLocalApi({
      sparse,
      credentials: [{ token: "local-token" }, { token: "reader", readOnly: true }],
    });
  });
  afterAll(() => api.close());

  async function call(
    method: string,
    path: string,
    expected: number,
    body?: unknown,
    headers: Record<string, string> = token,
  ): Promise<ApiResponse> {
    const response = await callerOf(api, headers)(method, path, body);
    const operation = contract?.operation(method, path.split("?")[0] ?? path);
    expect({
      request: `${method} ${path}`,
      status: response.status,
      complaints: contract?.complaints(method, path.split("?")[0] ?? path, response),
    }).toEqual({ request: `${method} ${path}`, status: expected, complaints: [] });
    if (sparse) expect(dispensable(method, path, response)).toEqual([]);
    judged.push({ operation: `${method} ${operation?.template ?? path}`, failed: response.status >= 400 });
    return response;
  }

  /** Members of the envelope that hold nothing and that the contract could do without. */
  function dispensable(method: string, path: string, { status, body }: ApiResponse): string[] {
    if (typeof body !== "object" || body === null || Buffer.isBuffer(body)) return [];
    const empty = Object.entries(body).filter(
      ([, value]) =>
        value === null || (typeof value === "object" && Object.keys(value as object).length === 0),
    );
    return empty
      .map(([name]) => name)
      .filter((name) => {
        const without = Object.fromEntries(Object.entries(body).filter(([member]) => member !== name));
        return (
          contract?.complaints(method, path.split("?")[0] ?? path, { status, body: without }).length === 0
        );
      });
  }

  /** The id of what a POST has made, which a sparse response may not tell: then that of the list's last record. */
  async function madeAt(path: string, response: ApiResponse): Promise<string> {
    const [id] =
      "result" in (response.body as object)
        ? [result(response)["id"]]
        : each(await call("GET", path, 200), "id").slice(-1);
    return String(id);
  }

  const pageShield = (zone: keyof LocalApi["zones"]) => `/zones/${api.zones[zone]}/page_shield`;
  const unknownId = "0".repeat(32);

  test("responses match the OpenAPI document when settings are read and changed", async () => {
    const path = pageShield("shop");
    await call("GET", path, 200);
    await call("PUT", path, 200, { enabled: false, use_connection_url_path: true });
    await call("PUT", path, 400, { enabled: "false" });
    await call("PUT", path, 400, "not JSON");
    await call("PUT", path, 415, "x", { ...token, "content-type": "text/plain" });
    await call("PUT", path, 403, { enabled: true }, { authorization: "Bearer reader" });
    await call("PUT", pageShield("small"), 403, { use_connection_url_path: true });
    await call("GET", pageShield("free"), 403);
  });

  test("responses match the OpenAPI document when a policy is created, changed and deleted", async () => {
    const path = `${pageShield("shop")}/policies`;
    await call("GET", path, 200);
    const id = idOf(await call("POST", path, 200, { ...newPolicy, enabled: "true", note: "further" }));
    await call("GET", `${path}/${id}`, 200);
    await call("PUT", `${path}/${id}`, 200, { enabled: "false" });
    await call("PUT", `${path}/${id}`, 400, { action: "block" });
    await call("DELETE", `${path}/${id}`, 204);
    await call("DELETE", `${path}/${id}`, 204);
    await call("DELETE", `${path}/not-an-id`, 400);
    await call("GET", `${path}/${id}`, 404);
    await call("PUT", `${path}/${id}`, 404, newPolicy);
    await call("POST", path, 400, {});
    await call("POST", `${pageShield("free")}/policies`, 400, newPolicy);
    await call("GET", path, 403, undefined, { authorization: "Bearer unknown" });
  });

  test.each(["scripts", "connections", "cookies"])(
    "responses match the OpenAPI document when %s are listed and read",
    async (kind) => {
      for (const zone of ["shop", "blog", "empty"] as const) {
        const path = `${pageShield(zone)}/${kind}`;
        const list = await call("GET", `${path}?page=all&status=active,infrequent,inactive`, 200);
        for (const id of each(list, "id")) await call("GET", `${path}/${String(id)}`, 200);
      }
      const path = `${pageShield("shop")}/${kind}`;
      await call("GET", `${path}?page=2&per_page=3`, 200);
      await call("GET", `${path}?per_page=101`, 400);
      await call("GET", `${path}/${unknownId}`, 404);
      await call("GET", path, 400, undefined, {});
      await call("GET", path, 400, undefined, { authorization: "Basic eA==" });
      await call("GET", `${pageShield("free")}/${kind}`, 403);
      await call("GET", `/zones/${unknownId}/page_shield/${kind}`, 404);
    },
  );

  test("responses match the OpenAPI document even on a lower plan, where records have fewer properties", async () => {
    const list = await call("GET", `${pageShield("small")}/scripts`, 200);
    for (const id of each(list, "id")) await call("GET", `${pageShield("small")}/scripts/${String(id)}`, 200);
  });

  test("responses match the OpenAPI document when a KV namespace is created, renamed and deleted", async () => {
    const path = `/accounts/${api.accounts.main}/storage/kv/namespaces`;
    await call("GET", path, 200);
    await call("GET", `${path}?per_page=1001`, 400);
    const id = await madeAt(path, await call("POST", path, 200, { title: "new" }));
    await call("POST", path, 400, { title: "new" });
    await call("GET", `${path}/${id}`, 200);
    await call("PUT", `${path}/${id}`, 200, { title: "renamed" });
    await call("PUT", `${path}/${id}`, 400, { title: "" });
    await call("DELETE", `${path}/${id}`, 200);
    await call("DELETE", `${path}/${id}`, 404);
    await call("GET", `${path}/${id}`, 404);
    await call("GET", `/accounts/${unknownId}/storage/kv/namespaces`, 404);
    await call("POST", path, 403, { title: "x" }, { authorization: "Bearer reader" });
  });

  test("responses match the OpenAPI document when KV keys are written, read, listed and deleted", async () => {
    const path = `/accounts/${api.accounts.main}/storage/kv/namespaces/${api.namespaces.existing}`;
    const pairs = Array.from({ length: 12 }, (_, index) => ({ key: `k${index}`, value: "1" }));
    const rich = [
      { key: "any", value: "{}", metadata: ["text", 1, true, null, { a: 1 }], expiration_ttl: 60 },
      { key: "object", value: "2", metadata: { a: { b: null } } },
      { key: "number", value: "3", metadata: 1.5 },
    ];
    await call("PUT", `${path}/bulk`, 200, [...pairs, ...rich]);
    await call("PUT", `${path}/bulk`, 400, [{ key: "a" }]);
    await call("PUT", `${path}/bulk`, 414, [{ key: "a".repeat(513), value: "" }]);
    api.fault({ kind: "unsuccessful", match: {}, count: 1 });
    await call("PUT", `${path}/bulk`, 200, pairs);

    await call("GET", `${path}/keys`, 200);
    await call("GET", `${path}/keys?limit=10&prefix=k`, 200);
    await call("GET", `${path}/keys?limit=9`, 400);
    api.fault({ kind: "emptyPage", match: {} });
    await call("GET", `${path}/keys`, 200);
    for (const { key } of rich) await call("GET", `${path}/metadata/${key}`, 200);
    await call("GET", `${path}/metadata/k0`, 200);
    await call("GET", `${path}/metadata/none`, 404);

    await call("PUT", `${path}/values/a%2Fb?expiration_ttl=60`, 200, "value");
    await call("PUT", `${path}/values/a?expiration_ttl=59`, 400, "value");
    await call("GET", `${path}/values/a%2Fb`, 200);
    await call("GET", `${path}/values/none`, 404);
    await call("DELETE", `${path}/values/a%2Fb`, 200);
    await call("DELETE", `${path}/values/${"a".repeat(513)}`, 414);

    const keys = ["any", "object", "number", "none"];
    await call("POST", `${path}/bulk/get`, 200, { keys });
    await call("POST", `${path}/bulk/get`, 200, { keys, withMetadata: true });
    await call("POST", `${path}/bulk/get`, 200, { keys, type: "json", withMetadata: true });
    await call("POST", `${path}/bulk/get`, 400, { keys: [] });
    await call("POST", `${path}/bulk/delete`, 200, keys);
    await call("POST", `${path}/bulk/delete`, 400, {});
    await call("DELETE", `${path}/bulk`, 200, ["k0"]);
    await call("DELETE", `${path}/bulk`, 400, [""]);
    await call("GET", path.replace(api.namespaces.existing, unknownId) + "/keys", 404);
  });

  test("responses match the OpenAPI document when managed rulesets are read, and when a change to one is rejected", async () => {
    const root = `/accounts/${api.accounts.main}/rulesets`;
    await call("GET", root, 200);
    await call("GET", `${root}?per_page=1`, 200);
    await call("GET", `${root}?per_page=51`, 400);
    for (const id of Object.values(managedRulesets)) await call("GET", `${root}/${id}`, 200);
    await call("GET", `${root}/${unknownId}`, 404);
    await call("DELETE", `${root}/${managedRulesets.owasp}`, 405);
  });

  test("responses match the OpenAPI document when an entry point and its rules are created, changed and deleted", async () => {
    const root = `/zones/${api.zones.empty}/rulesets`;
    const entryPoint = `${root}/phases/http_request_firewall_managed/entrypoint`;
    const score = { id: OWASP_SCORE_RULE, score_threshold: 25, action: "managed_challenge" };
    const overrides = { categories: [{ category: "paranoia-level-4", enabled: false }], rules: [score] };
    const execute = {
      action: "execute",
      action_parameters: { id: managedRulesets.owasp, version: "latest", overrides },
      expression: "true",
      description: "OWASP",
    };
    const skipped = { rules: { [managedRulesets.owasp]: [OWASP_SCORE_RULE] } };
    const skip = {
      action: "skip",
      action_parameters: skipped,
      expression: "ssl",
      logging: { enabled: false },
    };
    const creation = { name: "zone", kind: "zone", phase: "http_request_firewall_managed" };

    await call("GET", entryPoint, 404);
    await call("GET", root, 200);
    await call("GET", `${root}?cursor=x`, 400);
    const id = idOf(await call("POST", root, 200, { ...creation, rules: [execute, skip] }));
    await call("POST", root, 400, creation);
    await call("GET", `${root}?per_page=1`, 200);
    await call("GET", entryPoint, 200);
    await call("GET", `${root}/${id}`, 200);
    await call("GET", `${root}/${managedRulesets.managed}`, 200);
    await call("GET", `${root}/${unknownId}`, 404);
    await call("PUT", entryPoint, 200, { rules: [skip, { ...execute, ref: "mine" }] });
    await call("PUT", entryPoint, 400, { rules: [{ ...execute, expression: "" }] });

    const ruleset = await call("POST", `${root}/${id}/rules`, 200, { ...execute, position: { before: "" } });
    await call("POST", `${root}/${id}/rules`, 400, { ...execute, ref: "mine" });
    const rules = z.object({ rules: z.array(z.object({ id: z.string() })) }).parse(result(ruleset)).rules;
    const rule = `${root}/${id}/rules/${String(rules[0]?.id)}`;
    await call("PATCH", rule, 200, { ...skip, position: { index: 3 } });
    await call("PATCH", rule, 200, { position: { index: 1 } });
    await call("PATCH", rule, 400, { position: { before: unknownId } });
    await call("PATCH", rule, 400, "not JSON");
    await call("DELETE", rule, 200);
    await call("DELETE", rule, 404);
    await call("PATCH", rule, 404, execute);

    const free = `/zones/${api.zones.free}/rulesets/phases/http_request_firewall_managed/entrypoint`;
    await call("PUT", free, 400, { rules: [execute] });
    await call("GET", `/zones/${unknownId}/rulesets`, 404);
    await call("PUT", entryPoint, 403, { rules: [] }, { authorization: "Bearer reader" });
    const shop = `/zones/${api.zones.shop}/rulesets`;
    await call("GET", `${shop}/phases/http_request_firewall_managed/entrypoint`, 200);
    await call("DELETE", `${shop}/${managedRulesets.owasp}/rules/${seededRules.shop.managed}`, 400);
  });

  test.each(["zones", "accounts"] as const)(
    "Logpush responses for %s match the OpenAPI document",
    async (kind) => {
      const scope = kind === "zones" ? `/zones/${api.zones.empty}` : `/accounts/${api.accounts.main}`;
      const [dataset, elsewhere] =
        kind === "zones" ? ["http_requests", "audit_logs"] : ["audit_logs", "http_requests"];
      const path = `${scope}/logpush`;
      const destination_conf = "s3://shop-logs/edge?region=eu-central-1";
      const job = { ...newJob, dataset, output_options: null };

      const made = await call("POST", `${path}/jobs`, 200, { destination_conf: DATADOG, dataset });
      const id = Number(await madeAt(`${path}/jobs`, made));
      await call("POST", `${path}/jobs`, 200, { ...job, output_options: { sample_rate: 0.5 }, filter: "" });
      await call("POST", `${path}/jobs`, 400, { ...job, filter: "{}" });
      await call("POST", `${path}/jobs`, 400, { ...job, dataset: elsewhere });
      await call("POST", `${path}/jobs`, 400, { ...job, destination_conf });
      await call("GET", `${path}/jobs`, 200);
      await call("GET", `${path}/jobs`, 403, undefined, { authorization: "Bearer unknown" });
      await call("GET", `${path}/jobs/${id}`, 200);
      await call("GET", `${path}/jobs/999`, 404);
      await call("PUT", `${path}/jobs/${id}`, 200, { enabled: true, name: null });
      await call("PUT", `${path}/jobs/${id}`, 400, { enabled: "true" });
      api.logpush.setHealth(id, { last_error: "2026-10-01T00:00:00Z", error_message: "access denied" });
      await call("GET", `${path}/datasets/${dataset}/jobs`, 200);
      await call("GET", `${path}/datasets/${elsewhere}/jobs`, 404);
      await call("GET", `${path}/datasets/${dataset}/fields`, 200);
      await call("GET", `${path}/datasets/${elsewhere}/fields`, 404);

      await call("POST", `${path}/ownership`, 200, { destination_conf });
      await call("POST", `${path}/ownership`, 400, { destination_conf: "s3://shop-logs" });
      await call("DELETE", `${path}/jobs/${id}`, 200);
      await call("DELETE", `${path}/jobs/${id}`, 404);
    },
  );

  test.each(["page_shield", "storage/kv", "zones/{zone_id}/rulesets", "logpush"])(
    "the tests above cover every %s operation in the OpenAPI document, with a success and a failure",
    (part) => {
      for (const { method, template } of contract?.operations(part) ?? []) {
        const operation = `${method} ${template}`;
        if (NOT_SERVED.test(operation)) continue;
        expect({ operation, outcomes: outcomes(operation) }).toEqual({ operation, outcomes: [false, true] });
      }
      function outcomes(operation: string): boolean[] {
        return [
          ...new Set(judged.filter((each) => each.operation === operation).map(({ failed }) => failed)),
        ].sort();
      }
    },
  );
});

withContract("checking responses against the OpenAPI document", () => {
  const path = `/zones/${"0".repeat(32)}/page_shield`;
  const complaints = (status: number, body: unknown) =>
    contract?.complaints("GET", path, { status, body }) ?? [];

  test("the contract check reports a response that lacks a required property", () => {
    const result = { enabled: true, updated_at: "2026-01-01T00:00:00Z", use_connection_url_path: false };
    expect(complaints(200, { success: true, errors: [], messages: [], result }).join()).toContain(
      "use_cloudflare_reporting_endpoint",
    );
  });

  test("the contract check reports an error code below 1000, and a failure with success: true", () => {
    const errors = [{ code: 999, message: "x" }];
    expect(complaints(400, { success: false, errors, messages: [], result: null }).join()).toContain(
      ">= 1000",
    );
    expect(complaints(400, { success: true, errors: [], messages: [], result: null })).not.toEqual([]);
  });

  test("the contract check accepts null only where the OpenAPI document says nullable", () => {
    const script = {
      ...{
        id: "0".repeat(32),
        url: "https://a.example/a.js",
        host: "a.example",
        url_contains_cdn_cgi_path: false,
      },
      ...{ added_at: "2026-01-01T00:00:00Z", first_seen_at: "2026-01-01T00:00:00Z" },
      ...{ last_seen_at: "2026-01-01T00:00:00Z", js_integrity_score: null },
    };
    const judge = (result: unknown) =>
      contract?.complaints("GET", `${path}/scripts/${"0".repeat(32)}`, {
        status: 200,
        body: { success: true, errors: [], messages: [], result },
      });
    expect(judge(script)).toEqual([]);
    expect(judge({ ...script, host: null })).not.toEqual([]);
  });

  test("the contract check reports undocumented statuses and operations", () => {
    expect(complaints(302, {})).toEqual([`GET /zones/{zone_id}/page_shield does not publish status 302`]);
    expect(contract?.complaints("PATCH", path, { status: 200, body: {} })).toEqual([
      `PATCH ${path} is not published`,
    ]);
  });
});

test("if the OpenAPI document is missing, one line says that the contract tests didn't run", () => {
  const said = jest.spyOn(process.stderr, "write").mockReturnValue(true);
  expect(openContract("/nowhere/openapi.json")).toBeUndefined();
  expect(said.mock.calls).toEqual([["Contract tests did not run: /nowhere/openapi.json is not there.\n"]]);
  said.mockRestore();
});
