import type { WafAction } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { callerOf, each, result } from "./client";
import { Migrating, OWASP, VENDOR } from "./waf-client";

const api = apiPerFile();
const zone = new Migrating(api, "migrateEnterprise");
beforeEach(() => {
  api.reset();
});

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

  test.each(["high", "medium", "low", "off", "default"] as const)(
    "shows the OWASP package's sensitivity %s, as someone set it in the dashboard",
    async (sensitivity) => {
      api.inDashboard(api.zones.migrateEnterprise, { do: "package", sensitivity });
      expect(result(await zone.legacy("GET", `/packages/${OWASP}`))).toMatchObject({
        sensitivity,
        action_mode: "block",
      });
    },
  );

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

  test("changes rules, and counts them as unchanged once they have their default mode again", async () => {
    const dashboard = (action: WafAction) => api.inDashboard(api.zones.migrateEnterprise, action).vendor;
    const before = api.waf(api.zones.migrateEnterprise).vendor;
    const rule = `/packages/${VENDOR}/rules/100300`;
    expect(dashboard({ do: "rule", id: "100300", mode: "simulate" }).rules).toMatchObject({
      "100300": "simulate",
    });
    expect(result(await zone.legacy("GET", rule))).toMatchObject({ mode: "simulate" });
    dashboard({ do: "rule", id: "100300", mode: "default" });

    expect(api.waf(api.zones.migrateEnterprise).vendor).toEqual(before);
  });

  test("finds groups and rules only in their own package", async () => {
    expect(await zone.legacy("GET", `/packages/${VENDOR}/rules/960001`)).toMatchObject(notFound);
    expect(await zone.legacy("GET", `/packages/${OWASP}/groups/${"0".repeat(32)}`)).toMatchObject(notFound);
    expect(await zone.legacy("GET", `/packages/${OWASP}/rules/nonsense`)).toMatchObject({ status: 400 });
  });

  test.each<[string, unknown[]]>([
    ["per_page=5&page=5", ["101300", "101301", "101302", "101303"]],
    ["per_page=5&page=6", []],
  ])("lists rules with the query %s", async (query, ids) => {
    expect(each(await zone.legacy("GET", `/packages/${VENDOR}/rules?${query}`), "id")).toEqual(ids);
  });

  test.each(["per_page=4", "per_page=101", "page=0"])(
    "rejects the query %s for a list of rules",
    async (query) => {
      expect(await zone.legacy("GET", `/packages/${VENDOR}/rules?${query}`)).toMatchObject({
        status: 400,
        body: { errors: [{ code: 10001 }] },
      });
    },
  );
});

test("URI-based overrides are listed and read, with the API's defaults", async () => {
  const override = { urls: ["shop.example.com/cart/*"], rules: { "100100": "disable" as const } };
  const { overrides } = api.inDashboard(api.zones.migrateEnterprise, { do: "addOverride", override });
  const [created] = overrides;
  expect(created).toMatchObject({ ...override, description: null, paused: false, priority: 1, groups: {} });
  expect((await zone.legacy("GET", "/overrides")).body).toMatchObject({
    result: [created],
    result_info: { count: 1, total_count: 1 },
  });
  expect(result(await zone.legacy("GET", `/overrides/${created?.id ?? ""}`))).toEqual(created);
  expect(await zone.legacy("GET", `/overrides/${"0".repeat(32)}`)).toMatchObject(notFound);
  expect(await zone.legacy("DELETE", `/overrides/${created?.id ?? ""}`)).toMatchObject({ status: 200 });
  expect((await zone.legacy("GET", "/overrides")).body).toMatchObject({ result: [] });
});

describe("the local API", () => {
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
