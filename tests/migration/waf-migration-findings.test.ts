import { startLocalApi, type LocalApi } from "edgeguard-local";
import { migrationReadiness } from "pulumi-edgeguard";
import type { Finding } from "../../provider/migration/findings";
import type { JsonObject } from "../../provider/basics/json";
import { migrated, OWASP, rulesOf, TYPE, CLOUDFLARE } from "./support";
import { Operation } from "../support/operation";

/** What a reviewer sees of a migration, and what stays recorded. */

let api: LocalApi;
let zoneId: string;
beforeAll(async () => {
  api = await startLocalApi();
  zoneId = api.zones.migrateEnterprise;
});
beforeEach(() => {
  api.reset();
  api.clearFaults();
});
afterAll(() => api.close());

const assessed = async (inputs: JsonObject = {}): Promise<{ findings: Finding[]; text: string }> => {
  const op = new Operation(api);
  const { outputs } = await op.up(TYPE, { zoneId, target: "assessed", ...inputs });
  return { findings: outputs["findings"] as Finding[], text: op.said.join("\n") };
};
const about = (findings: readonly Finding[], topic: string): Finding | undefined =>
  findings.find((each) => each.about === topic);

const OVERRIDDEN = ["960001", "960002", "981001", "981002", "981003", "973001", "973002"];

describe("a migration that loses seven OWASP rules", () => {
  beforeEach(() => {
    for (const id of OVERRIDDEN) api.inDashboard(zoneId, { do: "rule", id, mode: "off" });
  });

  test("lists all lost rules in the outputs and the readiness; the preview names five and says where to find the rest", async () => {
    const { findings, text } = await assessed();
    expect(about(findings, "owaspRules")?.items).toEqual(OVERRIDDEN);
    expect(text).toMatch(/7 OWASP rule overrides: 960001, 960002, 981001, 981002, 981003, …/);
    expect(text).toContain(
      `for the full text of lists that end in "…", see the findings of migrationReadiness({ zones: ["${zoneId}"] })`,
    );
    const config = { baseUrl: api.url, apiToken: "local-token" };
    const { zones } = await migrationReadiness({ zones: [zoneId] }, { config });
    expect(about(zones[0]?.findings ?? [], "owaspRules")?.items).toEqual(OVERRIDDEN);
  });

  test("keeps the lost rules recorded once the zone is finished, refreshed and updated", async () => {
    const finished = await migrated(api, { zoneId, target: "finished" });
    const before = (outputs: JsonObject): unknown =>
      about(outputs["assessedBefore"] as Finding[], "owaspRules")?.items;
    expect(before(finished.outputs)).toEqual(OVERRIDDEN);
    expect(about(finished.outputs["findings"] as Finding[], "owaspRules")).toBeUndefined();
    const refreshed = await new Operation(api).refresh(TYPE, finished);
    expect(before(refreshed?.outputs ?? {})).toEqual(OVERRIDDEN);
    const updated = await new Operation(api).up(TYPE, { zoneId, target: "finished" }, finished);
    expect(before(updated.outputs)).toEqual(OVERRIDDEN);
  });

  test("keeps the lost rules recorded if a colleague finishes the zone in the dashboard", async () => {
    const inputs = { zoneId, target: "assessed" };
    const recorded = await new Operation(api).up(TYPE, inputs);
    api.inDashboard(zoneId, { do: "finish" });
    const refreshed = await new Operation(api).refresh(TYPE, recorded);
    expect(about(refreshed?.outputs["assessedBefore"] as Finding[], "owaspRules")?.items).toEqual(OVERRIDDEN);
  });
});

test("the preview has a line for every rule to send, including exceptions and disabled rules", async () => {
  const rules = Array.from({ length: 9 }, (_, i) => ({
    expression: `ip.src eq 192.0.2.${i}`,
    products: ["waf"],
    paused: i === 4,
  }));
  api.inDashboard(zoneId, { do: "firewallRules", rules });
  const op = new Operation(api);
  const plan = await op.preview(TYPE, { zoneId, target: "assessed" });
  const [refusal = ""] = await new Operation(api).refusals(TYPE, { zoneId, target: "finished" });
  for (const text of [op.said.join("\n"), JSON.stringify(plan.inputs["assessment"]), refusal])
    for (const [i, { expression }] of rules.entries())
      expect(text).toContain(
        `${i + 1}. skip all remaining rules where ${expression}${i === 4 ? " (disabled)" : ""}`,
      );
});

describe("without an enabled rule that executes a managed ruleset,", () => {
  const configuration = [
    { action: "execute", expression: "true", enabled: false, actionParameters: { id: CLOUDFLARE } },
    { action: "skip", expression: "ssl", actionParameters: { rulesets: [OWASP] } },
  ];

  test("a finished migration reports that the zone has no active managed rules, and newRulesEnabled is false", async () => {
    const recorded = await migrated(api, { zoneId, target: "finished", configuration });
    expect((await rulesOf(api, zoneId)).some(({ action, enabled }) => action === "execute" && enabled)).toBe(
      false,
    );
    const words =
      /previous rules are off, and no enabled rule executes a managed ruleset, so the zone has no active managed rules/;
    for (const { outputs } of [recorded, await new Operation(api).refresh(TYPE, recorded)].filter(
      (each) => each !== undefined,
    )) {
      expect(outputs).toMatchObject({ previousRulesEnabled: false, newRulesEnabled: false });
      expect((outputs["findings"] as Finding[])[0]?.text).toMatch(words);
    }
    const op = new Operation(api);
    await op.check(TYPE, { zoneId, target: "assessed" });
    expect(op.said.join("\n")).toMatch(words);
    expect(op.said.join("\n")).not.toContain("the new ones are on");
  });

  test("newRulesEnabled is also false in validation", async () => {
    const { outputs } = await migrated(api, { zoneId, target: "validation", configuration });
    expect(outputs).toMatchObject({ migrationState: "validation", newRulesEnabled: false });
  });
});

describe("the assessment of rules that bypass the managed rules", () => {
  const PAGE_RULES = [
    { url: "static.shop.example/*", actions: [{ id: "waf", value: "off" }] },
    { url: "https://shop.example/api/*", actions: [{ id: "disable_security" }] },
    { url: "shop.example/login", actions: [{ id: "waf", value: "on" }] },
  ];
  const BYPASSES = [{ expression: "ip.src eq 192.0.2.1", products: ["waf"] }];

  test("counts the bypass rules that become exceptions, and reports no loss", async () => {
    api.inDashboard(zoneId, { do: "firewallRules", rules: BYPASSES });
    api.inDashboard(zoneId, { do: "pageRules", rules: PAGE_RULES });
    const { findings, text } = await assessed();
    expect(text).toContain(
      "converted to exceptions (skip rules): 1 of 1 firewall bypass rule, 2 of 2 WAF-disabling page rules",
    );
    expect(about(findings, "pageRules")).toBeUndefined();
    expect(about(findings, "firewallRules")).toBeUndefined();
  });

  test("names the bypass rules without a matching exception", async () => {
    api.inDashboard(zoneId, { do: "firewallRules", rules: BYPASSES });
    api.inDashboard(zoneId, { do: "pageRules", rules: PAGE_RULES });
    const configuration = [
      {
        action: "skip",
        expression: 'http.host eq "static.shop.example"',
        actionParameters: { ruleset: "current" },
      },
      { action: "execute", expression: "true", actionParameters: { id: CLOUDFLARE } },
    ];
    const { findings, text } = await assessed({ configuration });
    expect(text).toContain("0 of 1 firewall bypass rule, 1 of 2 WAF-disabling page rules");
    expect(about(findings, "pageRules")).toMatchObject({
      weight: "lost",
      text: "not carried over: 1 WAF-disabling page rule: https://shop.example/api/*",
      items: ["https://shop.example/api/*"],
    });
    expect(about(findings, "firewallRules")).toMatchObject({
      weight: "lost",
      text: expect.stringMatching(
        /1 firewall bypass rule: [0-9a-f]{32} \(ip\.src eq 192\.0\.2\.1\)/,
      ) as string,
    });
  });

  test("doesn't mention bypass rules if there are none", async () => {
    api.inDashboard(zoneId, { do: "firewallRules", rules: [] });
    api.inDashboard(zoneId, { do: "pageRules", rules: [] });
    const { findings, text } = await assessed();
    expect(text).not.toMatch(/page rule|firewall rule/);
    expect(about(findings, "exceptions")).toBeUndefined();
  });
});

test("no finding quotes a secret configuration, before or after it changes", async () => {
  const canary = "c4naryZq7xKw2mVp9rTb";
  const configuration = [
    { action: "execute", expression: "true", actionParameters: { id: CLOUDFLARE } },
    {
      action: "skip",
      expression: `http.cookie contains "${canary}"`,
      description: "changes",
      actionParameters: { ruleset: "current" },
    },
  ];
  const inputs = { zoneId, target: "assessed", configuration, __secrets: ["configuration"] };
  const first = await new Operation(api).up(TYPE, inputs);
  const second = await new Operation(api).update(TYPE, inputs, first);
  for (const { outputs } of [first, second]) {
    const findings = outputs["findings"] as Finding[];
    expect(about(findings, "order")?.text).toContain("[secret]");
    expect(JSON.stringify(findings)).not.toContain(canary);
  }
});
