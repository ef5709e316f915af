import type { LocalApi } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { openContract } from "../support/openapi";
import { type ApiResponse, callerOf, each, token } from "./client";
import { OWASP, VENDOR } from "./waf-client";

const contract = openContract();
const withContract = contract === undefined ? describe.skip : describe;

/**
 * Nothing satisfies these parts of the published document: a failure has to be a success as well, and the one response of
 * a package has to fit exactly one of two forms that every object fits. What is left of the judgement counts.
 */
const contradictions: readonly (readonly [RegExp, (status: number, path: string) => boolean])[] = [
  [/^\/success .*"allowedValues":\[true\]/, (status) => status >= 400],
  [/^\/result must be (object|array|string) /, (status) => status >= 400],
  [/^\/result must match (a schema in anyOf|exactly one schema in oneOf) /, (status) => status >= 400],
  [/^the response must match (a schema in anyOf|exactly one schema in oneOf) /, (status) => status >= 400],
  [
    /^the response must match exactly one schema in oneOf .*"passingSchemas":\[0,1\]/,
    (_, path) => /\/packages\/[0-9a-f]+$/.test(path),
  ],
];

function complaintsOf(method: string, path: string, response: Pick<ApiResponse, "status" | "body">) {
  return contract
    ?.complaints(method, path, response)
    .filter(
      (text) => !contradictions.some(([said, where]) => said.test(text) && where(response.status, path)),
    );
}

withContract("the previous WAF rules in the openapi dialect", () => {
  const api = apiPerFile();
  const judged: { operation: string; failed: boolean }[] = [];

  async function call(
    method: string,
    path: string,
    expected: number,
    body?: unknown,
    headers: Record<string, string> = token,
  ): Promise<ApiResponse> {
    const response = await callerOf(api, headers)(method, path, body);
    const bare = path.split("?")[0] ?? path;
    const complaints = complaintsOf(method, bare, response);
    const request = `${method} ${path}`;
    expect({ request, status: response.status, complaints }).toEqual({
      request,
      status: expected,
      complaints: [],
    });
    const operation = contract?.operation(method, bare)?.template ?? path;
    judged.push({ operation: `${method} ${operation}`, failed: response.status >= 400 });
    return response;
  }

  const waf = (zone: keyof LocalApi["zones"]) => `/zones/${api.zones[zone]}/firewall/waf`;

  test("responses match the OpenAPI document when WAF packages are read", async () => {
    const path = `${waf("migratePro")}/packages`;
    await call("GET", path, 200);
    await call("GET", `${path}?per_page=4`, 400);
    for (const id of [OWASP, VENDOR]) await call("GET", `${path}/${id}`, 200);
    await call("GET", `${path}/${"0".repeat(32)}`, 404);
    await call("GET", `${waf("shop")}/packages`, 403);
    await call("GET", `${waf("migrateRetired")}/packages/${OWASP}`, 410);
  });

  test.each([OWASP, VENDOR])(
    "responses match the OpenAPI document for the groups and rules of WAF package %s",
    async (id) => {
      const path = `${waf("migratePro")}/packages/${id}`;
      const [group] = each(await call("GET", `${path}/groups`, 200), "id");
      await call("GET", `${path}/groups/${String(group)}`, 200);
      await call("GET", `${path}/groups?page=0`, 400);
      await call("GET", `${path}/groups/${"0".repeat(32)}`, 404);

      const [rule] = each(await call("GET", `${path}/rules`, 200), "id");
      await call("GET", `${path}/rules/${String(rule)}`, 200);
      await call("GET", `${path}/rules?per_page=101`, 400);
      await call("GET", `${path}/rules/999999`, 404);
    },
  );

  test("responses match the OpenAPI document when URI-based overrides are read and deleted", async () => {
    const path = `${waf("migrateOverrides")}/overrides`;
    for (const id of each(await call("GET", path, 200), "id")) {
      await call("GET", `${path}/${String(id)}`, 200);
      await call("DELETE", `${path}/${String(id)}`, 200);
      await call("DELETE", `${path}/${String(id)}`, 404);
    }
    await call("GET", `${path}?page=0`, 400);
    await call("GET", `${path}/${"0".repeat(32)}`, 404);
  });

  test("the tests above cover every read of previous WAF rules, with a success and a failure", () => {
    for (const { method, template } of contract?.operations("/firewall/waf/") ?? []) {
      if (method !== "GET") continue; // Tests change the rules as the dashboard does.
      const operation = `${method} ${template}`;
      const outcomes = new Set(judged.filter((one) => one.operation === operation).map((one) => one.failed));
      expect({ operation, outcomes: [...outcomes].sort() }).toEqual({ operation, outcomes: [false, true] });
    }
  });

  test("the contract check still finds errors where the OpenAPI document contradicts itself", () => {
    const path = `${waf("migratePro")}/packages/${OWASP}`;
    const failure = { success: false, errors: [{ code: 1000, message: "x" }], messages: [], result: null };
    const judge = (status: number, body: unknown, at = path) =>
      complaintsOf("PATCH", at, { status, body })?.length;
    expect(judge(400, failure)).toBe(0);
    expect(judge(400, { ...failure, errors: [{ code: 999, message: "x" }] })).toBeGreaterThan(0);
    expect(judge(400, { ...failure, success: true })).toBeGreaterThan(0);
    expect(judge(400, { ...failure, result: {} })).toBeGreaterThan(0);
    expect(judge(200, { ...failure, success: true, result: { id: OWASP } })).toBeGreaterThan(0);
  });
});
