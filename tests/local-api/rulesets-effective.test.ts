import { type EffectiveRule, managedRulesets, OWASP_SCORE_RULE, seededRules } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { controlOf } from "./client";
import { rulesOf, ZoneRulesets } from "./rulesets-client";

const { managed, owasp } = managedRulesets;

describe("the effective rules of a zone", () => {
  const api = apiPerFile();
  const zone = new ZoneRulesets(api, api.zones.empty);

  beforeEach(() => api.reset());

  async function deploy(
    id: string,
    overrides?: object,
    more: object = {},
  ): Promise<readonly EffectiveRule[]> {
    const action_parameters = { id, ...(overrides === undefined ? {} : { overrides }) };
    const response = await zone.put({
      rules: [{ action: "execute", expression: "true", action_parameters, ...more }],
    });
    expect(response).toMatchObject({ status: 200 });
    return (await zone.effective()).deployments[0]?.rules ?? [];
  }
  const tagged = (rules: readonly EffectiveRule[], ...tags: string[]) =>
    rules.filter(({ categories }) => tags.every((tag) => categories.includes(tag)));
  const counts = (rules: readonly EffectiveRule[]) => [
    rules.filter(({ enabled }) => enabled).length,
    rules.filter(({ enabled }) => !enabled).length,
  ];

  test("don't exist without a deployment", async () => {
    expect(await zone.effective()).toEqual({ deployments: [], exceptions: [] });
    expect((await controlOf(api)("GET", `/zones/${"0".repeat(32)}/effective-waf`)).status).toBe(404);
  });

  test("are the ruleset's defaults if there are no overrides", async () => {
    const rules = await deploy(owasp);
    expect(counts(rules)).toEqual([168, 0]);
    expect(rules.at(-1)).toMatchObject({
      id: OWASP_SCORE_RULE,
      action: "block",
      score_threshold: 40,
      decided: { enabled: "default", action: "default" },
    });
  });

  test.each([
    [1, ["paranoia-level-2", "paranoia-level-3", "paranoia-level-4"]],
    [2, ["paranoia-level-3", "paranoia-level-4"]],
    [3, ["paranoia-level-4"]],
  ])("at paranoia level %i are all rules except those of higher levels", async (_, above) => {
    const rules = await deploy(owasp, {
      categories: above.map((category) => ({ category, enabled: false })),
    });
    for (const rule of rules) {
      expect(rule.enabled).toBe(!rule.categories.some((tag) => above.includes(tag)));
    }
  });

  test("get their score threshold and action from an override of the OWASP ruleset's last rule", async () => {
    const rules = await deploy(owasp, {
      rules: [{ id: OWASP_SCORE_RULE, score_threshold: 25, action: "managed_challenge" }],
    });
    expect(rules.at(-1)).toMatchObject({ score_threshold: 25, action: "managed_challenge", enabled: true });
    expect(counts(rules)).toEqual([168, 0]);
  });

  test("are set by the last of several category overrides that apply to a rule", async () => {
    const wordpress = { category: "wordpress", enabled: false };
    const sqli = { category: "sqli", enabled: true, action: "log" };
    const first = await deploy(managed, { categories: [wordpress, sqli] });
    const swapped = await deploy(managed, { categories: [sqli, wordpress] });

    const both = (rules: readonly EffectiveRule[]) => tagged(rules, "wordpress", "sqli");
    expect(both(first)).toMatchObject([
      { enabled: true, action: "log", decided: { enabled: "category sqli" } },
    ]);
    expect(both(swapped)).toMatchObject([
      { enabled: false, action: "log", decided: { enabled: "category wordpress", action: "category sqli" } },
    ]);
    const others = (rules: readonly EffectiveRule[]) => rules.filter((rule) => !both(rules).includes(rule));
    expect(others(first)).toEqual(others(swapped));
  });

  test("are set by rule overrides before category overrides, and by category overrides before ruleset overrides", async () => {
    const xss = tagged(await deploy(managed), "xss");
    const [one, other] = xss;
    const rules = await deploy(managed, {
      enabled: false,
      action: "log",
      categories: [{ category: "xss", enabled: true }],
      rules: [{ id: one?.id, enabled: false, action: "challenge" }],
    });
    expect(counts(rules)).toEqual([xss.length - 1, 140 - xss.length + 1]);
    const of = (id: string | undefined) => rules.find((rule) => rule.id === id);
    expect(of(one?.id)).toMatchObject({ enabled: false, action: "challenge", decided: { enabled: "rule" } });
    expect(of(other?.id)).toMatchObject({
      enabled: true,
      action: "log",
      decided: { enabled: "category xss", action: "ruleset" },
    });
  });

  test("keep their own action if they don't accept the one in a ruleset override", async () => {
    const rules = await deploy(owasp, { action: "log" });
    expect(rules.filter(({ action }) => action === "log").map(({ id }) => id)).toEqual([OWASP_SCORE_RULE]);
    const uploads = tagged(await deploy(managed, { action: "challenge" }), "file-upload");
    expect(uploads.every(({ action }) => action === "block")).toBe(true);
  });

  test("change with a new ruleset version unless the deployment pins a version", async () => {
    const [rule] = rulesOf(await zone.call("GET", `${zone.root}/${owasp}`));
    const change = [{ id: rule?.id, categories: ["protocol", "paranoia-level-3"] }];
    const overrides = { categories: [{ category: "paranoia-level-3", enabled: false }] };
    const ofRule = async () =>
      (await zone.effective()).deployments.map(({ ruleset, rules }) => [ruleset.version, rules[0]?.enabled]);

    const execute = (version: string) => ({
      action: "execute",
      expression: "true",
      action_parameters: { id: owasp, version, overrides },
    });
    await zone.put({ rules: [execute("latest"), execute("37")] });
    expect(await ofRule()).toEqual([
      ["37", true],
      ["37", true],
    ]);
    await controlOf(api)("POST", `/rulesets/${owasp}/versions`, { change });
    expect(await ofRule()).toEqual([
      ["38", false],
      ["37", true],
    ]);
  });

  test("don't include any rules of a disabled deployment", async () => {
    await deploy(owasp, undefined, { enabled: false });
    expect((await zone.effective()).deployments).toMatchObject([{ enabled: false, on: 0, off: 168 }]);
  });

  test("are listed with the zone's exceptions, and with the earlier exceptions that skip them", async () => {
    const skip = (ref: string, action_parameters: object, enabled = true) => {
      return { action: "skip", ref, expression: "ip.src eq 10.0.0.1", action_parameters, enabled };
    };
    const execute = (id: string) => ({ action: "execute", expression: "true", action_parameters: { id } });
    const response = await zone.put({
      rules: [
        skip("one rule", { rules: { [owasp]: [OWASP_SCORE_RULE] } }),
        skip("off", { ruleset: "current" }, false),
        execute(owasp),
        skip("whole ruleset", { rulesets: [owasp] }),
        skip("all", { ruleset: "current" }),
        execute(managed),
      ],
    });
    const [one, , , , all] = rulesOf(response).map(({ id }) => id);
    const { deployments, exceptions } = await zone.effective();
    expect(exceptions.map(({ ref }) => ref)).toEqual(["one rule", "off", "whole ruleset", "all"]);
    const skipped = deployments.map(({ rules }) => rules.filter(({ skippedBy }) => skippedBy.length > 0));
    expect(skipped[0]).toMatchObject([{ id: OWASP_SCORE_RULE, skippedBy: [one] }]);
    expect(skipped[1]).toHaveLength(140);
    expect(skipped[1]?.every(({ skippedBy }) => skippedBy.join() === all)).toBe(true);
  });

  test("in the seeded zone come from two active deployments, with one exception and without the WordPress rules", async () => {
    const shop = new ZoneRulesets(api, api.zones.shop);
    const { deployments, exceptions } = await shop.effective();
    const { monitoring, managed: baseline, credentials } = seededRules.shop;
    expect(exceptions).toMatchObject([{ id: monitoring, skips: { ruleset: "current" } }]);
    expect(deployments.map(({ id, on }) => [id, on > 0])).toEqual([
      [baseline, true],
      [credentials, true],
    ]);
    expect(counts(tagged(deployments[0]?.rules ?? [], "wordpress"))).toEqual([0, 10]);
  });
});
