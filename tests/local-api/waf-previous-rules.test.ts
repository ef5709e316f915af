import { type LocalApi, startLocalApi } from "edgeguard-local";
import { callerOf, each, idOf, result } from "./client";
import { Migrating, OWASP, VENDOR } from "./waf-client";

let api: LocalApi;
let zone: Migrating;
beforeAll(async () => {
  api = await startLocalApi();
});
beforeEach(() => {
  api.reset();
  zone = new Migrating(api, "migrateEnterprise");
});
afterAll(() => api.close());

const notFound = { status: 404, body: { success: false, result: null, errors: [{ code: 10004 }] } };

describe("the API for previous WAF packages", () => {
  test("lists Cloudflare's package, and the OWASP package with its sensitivity and action", async () => {
    const response = await zone.legacy("GET", "/packages");
    const zone_id = api.zones.migrateEnterprise;
    expect(response.body).toMatchObject({
      result: [
        { id: VENDOR, name: "CloudFlare", zone_id, detection_mode: "traditional", status: "active" },
        {
          ...{ id: OWASP, name: "OWASP ModSecurity Core Rule Set", zone_id, detection_mode: "anomaly" },
          ...{ sensitivity: "low", action_mode: "block" },
        },
      ],
      result_info: { page: 1, per_page: 50, count: 2, total_count: 2, total_pages: 1 },
    });
    expect(result(await zone.legacy("GET", `/packages/${VENDOR}`))).not.toHaveProperty("sensitivity");
  });

  test.each(["high", "medium", "low", "off", "default"])(
    "accepts the sensitivity %s for the OWASP package",
    async (sensitivity) => {
      const changed = await zone.legacy("PATCH", `/packages/${OWASP}`, { sensitivity });
      expect(result(changed)).toMatchObject({ sensitivity, action_mode: "block" });
      expect(result(await zone.legacy("GET", `/packages/${OWASP}`))).toEqual(result(changed));
    },
  );

  test.each<[string, object, string]>([
    [OWASP, { sensitivity: "extreme" }, "/sensitivity"],
    [OWASP, { action_mode: "log" }, "/action_mode"],
    [VENDOR, { action_mode: "block" }, "/action_mode"],
  ])("refuses to change package %s to %j, with a pointer to the property", async (id, body, pointer) => {
    expect(await zone.legacy("PATCH", `/packages/${id}`, body)).toMatchObject({
      status: 400,
      body: { success: false, errors: [{ code: 10001, source: { pointer } }] },
    });
  });

  test("returns 404 for an unknown package and for its groups and rules", async () => {
    const unknown = "0".repeat(32);
    for (const path of [`/packages/${unknown}`, `/packages/${unknown}/groups`, `/packages/${unknown}/rules`])
      expect(await zone.legacy("GET", path)).toMatchObject(notFound);
    expect(await zone.legacy("GET", "/packages/x")).toMatchObject({ status: 400 });
  });
});

describe("the API for groups and rules of previous WAF packages", () => {
  test("shows the modes of changed groups and rules, and counts the changed rules in each group", async () => {
    const groups = await zone.legacy("GET", `/packages/${OWASP}/groups`);
    expect(groups.body).toMatchObject({
      result: [
        { name: "OWASP Protocol Violations", mode: "on", rules_count: 2, modified_rules_count: 1 },
        { name: "OWASP SQL Injection Attacks", mode: "on", rules_count: 3, modified_rules_count: 1 },
        { name: "OWASP XSS Attacks", mode: "off", rules_count: 2, modified_rules_count: 0 },
        { name: "OWASP Generic Attacks", mode: "on", rules_count: 2, modified_rules_count: 0 },
      ],
    });
    expect(result(await zone.legacy("GET", `/packages/${OWASP}/rules/960001`))).toMatchObject({
      mode: "off",
      allowed_modes: ["on", "off"],
      group: { name: "OWASP Protocol Violations" },
      package_id: OWASP,
    });
    expect(result(await zone.legacy("GET", `/packages/${VENDOR}/rules/100000`))).toMatchObject({
      mode: "disable",
      default_mode: "block",
      allowed_modes: ["default", "disable", "simulate", "block", "challenge"],
    });
  });

  test("changes groups and rules, and counts them as unchanged once they have their default mode again", async () => {
    const before = api.waf(api.zones.migrateEnterprise).vendor;
    const rule = `/packages/${VENDOR}/rules/100300`;
    expect(result(await zone.legacy("PATCH", rule, { mode: "simulate" }))).toMatchObject({
      mode: "simulate",
    });
    expect(api.waf(api.zones.migrateEnterprise).vendor.rules).toMatchObject({ "100300": "simulate" });
    await zone.legacy("PATCH", rule, { mode: "default" });

    const [group] = each(
      await zone.legacy("GET", `/packages/${VENDOR}/groups?name=Cloudflare%20Joomla`),
      "id",
    );
    const path = `/packages/${VENDOR}/groups/${String(group)}`;
    expect(result(await zone.legacy("PATCH", path, { mode: "on" }))).toMatchObject({ mode: "on" });
    await zone.legacy("PATCH", path, { mode: "off" });
    expect(api.waf(api.zones.migrateEnterprise).vendor).toEqual(before);
  });

  test.each([
    [`/packages/${VENDOR}/rules/100300`, "on"],
    [`/packages/${OWASP}/rules/960001`, "block"],
    [`/packages/${OWASP}/rules/960001`, "sometimes"],
  ])("refuses to set %s to the mode %s", async (path, mode) => {
    expect(await zone.legacy("PATCH", path, { mode })).toMatchObject({
      status: 400,
      body: { errors: [{ code: 10001, source: { pointer: "/mode" } }] },
    });
  });

  test("finds groups and rules only in their own package", async () => {
    expect(await zone.legacy("GET", `/packages/${VENDOR}/rules/960001`)).toMatchObject(notFound);
    expect(await zone.legacy("GET", `/packages/${OWASP}/groups/${"0".repeat(32)}`)).toMatchObject(notFound);
    expect(await zone.legacy("GET", `/packages/${OWASP}/rules/nonsense`)).toMatchObject({ status: 400 });
  });

  test.each<[string, unknown[]]>([
    ["per_page=5&page=5", ["101300", "101301", "101302", "101303"]],
    ["mode=BLK", ["100201"]],
    ["mode=DIS&priority=2&match=any&per_page=5", ["100000", "100001", "100101", "100201", "100301"]],
    ["priority=1&order=description&direction=desc&per_page=5&page=2", ["100100"]],
  ])("lists rules with the query %s", async (query, ids) => {
    expect(each(await zone.legacy("GET", `/packages/${VENDOR}/rules?${query}`), "id")).toEqual(ids);
  });

  test.each(["per_page=4", "per_page=101", "page=0", "order=mode", "direction=up", "match=some"])(
    "rejects the query %s for a list of rules",
    async (query) => {
      expect(await zone.legacy("GET", `/packages/${VENDOR}/rules?${query}`)).toMatchObject({
        status: 400,
        body: { errors: [{ code: 10001 }] },
      });
    },
  );
});

describe("URI-based overrides", () => {
  const sent = { urls: ["shop.example.com/cart/*"], rules: { "100100": "disable" } };

  test("can be created with defaults, listed, replaced and deleted", async () => {
    const created = await zone.legacy("POST", "/overrides", sent);
    const id = idOf(created);
    expect(result(created)).toEqual({
      ...{ ...sent, id, description: null, paused: false, priority: 1, groups: {}, rewrite_action: {} },
    });
    expect(result(await zone.legacy("GET", `/overrides/${id}`))).toEqual(result(created));

    const next = { id, urls: ["*"], rules: {}, rewrite_action: { block: "challenge" }, paused: true };
    expect(result(await zone.legacy("PUT", `/overrides/${id}`, next))).toMatchObject(next);
    expect((await zone.legacy("GET", "/overrides")).body).toMatchObject({
      result: [next],
      result_info: { count: 1, total_count: 1 },
    });
    expect(result(await zone.legacy("DELETE", `/overrides/${id}`))).toEqual({ id });
    expect(each(await zone.legacy("GET", "/overrides"), "id")).toEqual([]);
    expect(await zone.legacy("DELETE", `/overrides/${id}`)).toMatchObject(notFound);
  });

  test.each<[object, string]>([
    [{ rules: { "1": "disable" } }, "/urls"],
    [{ urls: [], rules: { "1": "disable" } }, "/urls"],
    [{ urls: ["a"] }, "/rules"],
    [{ urls: ["a"], rules: { "1": "log" } }, "/rules/1"],
    [{ ...sent, priority: 1e9 + 1 }, "/priority"],
    [{ ...sent, description: "x".repeat(1025) }, "/description"],
  ])("can't be created as %j", async (body, pointer) => {
    expect(await zone.legacy("POST", "/overrides", body)).toMatchObject({
      status: 400,
      body: { errors: [{ source: { pointer } }] },
    });
  });

  test("can only be replaced as a whole, with the same ID in the body", async () => {
    const id = idOf(await zone.legacy("POST", "/overrides", sent));
    expect(await zone.legacy("PUT", `/overrides/${id}`, { ...sent, id })).toMatchObject({
      status: 400,
      body: { errors: [{ source: { pointer: "/rewrite_action" } }] },
    });
    const other = { ...sent, id: "0".repeat(32), rewrite_action: {} };
    expect(await zone.legacy("PUT", `/overrides/${id}`, other)).toMatchObject({ status: 400 });
  });
});

describe("the local API", () => {
  test("has a zone setting that turns the previous WAF rules on and off", async () => {
    const path = `${zone.root}/settings/waf`;
    expect(result(await zone.call("GET", path))).toMatchObject({ id: "waf", value: "on", editable: true });
    expect(result(await zone.call("PATCH", path, { value: "off" }))).toMatchObject({ value: "off" });
    expect(result(await zone.call("GET", path))).toMatchObject({ value: "off" });
    expect(await zone.call("PATCH", path, { value: "maybe" })).toMatchObject({ status: 400 });
  });

  test("lists firewall rules by page, including those that bypass the managed rules", async () => {
    const limits = new Migrating(api, "migrateLimits");
    const first = await limits.call("GET", `${limits.root}/firewall/rules?per_page=100`);
    const info = { page: 1, per_page: 100, count: 100, total_count: 202, total_pages: 3 };
    expect(first.body).toMatchObject({
      result_info: info,
      result: expect.arrayContaining([
        expect.objectContaining({ action: "challenge" }),
        expect.objectContaining({ action: "bypass", products: ["rateLimit"] }),
        expect.objectContaining({ action: "bypass", products: ["waf"] }),
      ]) as unknown,
    });
    const last = await limits.call("GET", `${limits.root}/firewall/rules?per_page=100&page=3`);
    expect(each(last, "id")).toHaveLength(2);
    const whole = each(await limits.call("GET", `${limits.root}/firewall/rules`), "id");
    expect(whole).toHaveLength(50);
    expect(await limits.call("GET", `${limits.root}/firewall/rules?per_page=4`)).toMatchObject({
      status: 400,
    });
  });

  test("lists page rules with their targets and actions", async () => {
    const page = new Migrating(api, "migratePageRule");
    const response = await page.call("GET", `${page.root}/pagerules`);
    expect(response.body).not.toHaveProperty("result_info");
    expect(response.body).toMatchObject({
      result: [
        {
          targets: [
            {
              target: "url",
              constraint: { operator: "matches", value: "migrate-page-rule.example/webhooks/*" },
            },
          ],
          actions: [{ id: "waf", value: "off" }],
          status: "active",
        },
      ],
    });
  });

  test("rejects an unknown zone and a missing credential", async () => {
    const anonymous = callerOf(api, {});
    for (const path of ["/firewall/waf/packages", "/firewall/rules", "/pagerules", "/waf_migration/status"]) {
      expect(await anonymous("GET", zone.root + path)).toMatchObject({ status: 400 });
      expect(await zone.call("GET", `/zones/${"0".repeat(32)}${path}`)).toMatchObject({ status: 404 });
    }
    expect(await zone.call("POST", `${zone.root}/waf_migration/check`)).toMatchObject({ status: 405 });
  });
});
