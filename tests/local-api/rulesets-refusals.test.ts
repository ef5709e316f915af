import { managedRulesets, OWASP_SCORE_RULE, seededRules } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { callerOf, result, start } from "./client";
import { PHASE, rulesOf, ZoneRulesets } from "./rulesets-client";

const NONE = "0".repeat(32);
const { managed, owasp, exposedCredentials, free } = managedRulesets;

const execute = (parameters: object) => ({
  action: "execute",
  action_parameters: { id: owasp, ...parameters },
  expression: "true",
});
const overrides = (members: object) => execute({ overrides: members });
const expressed = (expression: unknown) => ({ ...execute({}), expression });

const api = apiPerFile();
const shop = new ZoneRulesets(api, api.zones.shop);

test.each([
  "(false)",
  'http.host == "www.example.com" && !cf.client.bot || not (cf.waf.score lt 20 ^^ ssl)',
  "ip.src in {198.51.100.1 198.51.100.3..198.51.100.7 192.0.2.0/24 2001:db8::/32} or ip.src in $office",
  "cf.edge.server_port in {8000..8009 8080} and http.request.timestamp.sec gt 0x10",
  'any(lower(http.request.headers["content-type"][*])[*] contains "json") and http.request.uri.args["a"][0] ne "b"',
  'http.request.uri.path matches r#"a"b$"# or http.request.full_uri strict wildcard "*\\"*"',
  'is_timed_hmac_valid_v0("key", concat(http.host, "/"), 100000, http.request.timestamp.sec, 8)',
  "\n  ssl\r\n  and\tssl\n",
])("stores an expression as it was sent: %j", async (expression) => {
  const other = new ZoneRulesets(api, api.zones.small);
  expect(await other.put({ rules: [expressed(expression)] })).toMatchObject({ status: 200 });
  expect(rulesOf(await other.read())).toMatchObject([{ expression }]);
});

test("the error for an invalid expression says at which line and column", async () => {
  const rule = expressed("ssl\n or http.host eq shop.example");
  const { body } = await shop.add(rule);
  expect(JSON.stringify(body)).toContain(
    "could not parse filter expression: Filter parsing error (2:18): unknown identifier shop.example",
  );
});

describe("a rule is rejected with an error code and a pointer", () => {
  test.each<[string, object, number, string]>([
    ["without an expression", { ...execute({}), expression: undefined }, 20125, "/expression"],
    ["with a blank expression", expressed(" "), 20125, "/expression"],
    ["with an expression that isn't a string", expressed(1), 10001, "/expression"],
    ["with an expression of more than 4,096 characters", expressed("x".repeat(4097)), 20126, "/expression"],
    ["with an open string", expressed('http.host eq "a'), 20127, "/expression"],
    ["with an open parenthesis", expressed('(http.host eq "a"'), 20127, "/expression"],
    ["with brackets that cross", expressed('(http.host in {"a")}'), 20127, "/expression"],
    ["with a field that does not exist", expressed('URI Path eq "/"'), 20127, "/expression"],
    ["with an unquoted host", expressed("http.host eq shop.example"), 20127, "/expression"],
    ["with an invalid character", expressed("true; true"), 20127, "/expression"],
    ["with a set that is not closed", expressed('http.host in {"a"'), 20127, "/expression"],
    ["with an operator in capitals", expressed("ssl AND ssl"), 20127, "/expression"],
    ["with endless nesting", expressed("(".repeat(4096)), 20127, "/expression"],
    ["without an action", { ...execute({}), action: undefined }, 20119, "/action"],
    ["with an action from another phase", { ...execute({}), action: "block" }, 20120, "/action"],
    ["without parameters", { ...execute({}), action_parameters: undefined }, 20118, "/action_parameters"],
    ["with a property that does not exist", { ...execute({}), note: "x" }, 10001, "/note"],
    [
      "with a parameter of another action",
      execute({ ruleset: "current" }),
      10001,
      "/action_parameters/ruleset",
    ],
    ["if it executes a ruleset that doesn't exist", execute({ id: NONE }), 20121, "/action_parameters/id"],
    [
      "if it executes a version that doesn't exist",
      execute({ version: "1" }),
      20122,
      "/action_parameters/version",
    ],
    ["if it's new but has an ID", { ...execute({}), id: NONE }, 20152, "/id"],
    ["with another rule's ref", { ...execute({}), ref: "security-team/managed" }, 20150, "/ref"],
  ])("%s", async (_, rule, code, pointer) => {
    await expectRefused(rule, code, pointer);
  });

  const at = "/action_parameters/overrides";
  const score = (more: object) => overrides({ rules: [{ id: OWASP_SCORE_RULE, ...more }] });
  const category = (category: string, more: object = {}) =>
    overrides({ categories: [{ category, ...more }] });
  const upload = { categories: [{ category: "file-upload", action: "challenge" }] };
  test.each<[string, object, number, string]>([
    ["nothing", overrides({}), 20123, ""],
    ["an unknown property", overrides({ tags: [] }), 10001, "/tags"],
    ["an empty list of categories", overrides({ categories: [] }), 20123, "/categories"],
    ["a category without a change", category("xss"), 20123, "/categories/0"],
    [
      "a category from another ruleset",
      category("wordpress", { enabled: false }),
      20128,
      "/categories/0/category",
    ],
    [
      "the same category override twice",
      overrides({ categories: [0, 1].map(() => ({ category: "xss", enabled: false })) }),
      20133,
      "/categories/1",
    ],
    [
      "an action for rules that only score",
      category("xss", { action: "block" }),
      20130,
      "/categories/0/action",
    ],
    ["an action that does not exist", overrides({ action: "allow" }), 20130, "/action"],
    [
      "an action that the rules don't accept",
      execute({ id: managed, overrides: upload }),
      20130,
      "/categories/0/action",
    ],
    ["a sensitivity level", overrides({ sensitivity_level: "low" }), 20132, "/sensitivity_level"],
    ["an empty list of rules", overrides({ rules: [] }), 20123, "/rules"],
    ["a rule without a change", score({}), 20123, "/rules/0"],
    ["an unknown rule", score({ id: NONE, enabled: false }), 20129, "/rules/0/id"],
    [
      "the same rule twice",
      overrides({ rules: [true, false].map((enabled) => ({ id: OWASP_SCORE_RULE, enabled })) }),
      20133,
      "/rules/1",
    ],
    ["a fractional threshold", score({ score_threshold: 2.5 }), 10001, "/rules/0/score_threshold"],
  ])("if its overrides contain %s", async (_, rule, code, pointer) => {
    await expectRefused(rule, code, at + pointer);
  });

  test("if it overrides the score threshold of a rule that doesn't have one", async () => {
    const account = await callerOf(api)("GET", `/accounts/${api.accounts.main}/rulesets/${owasp}`);
    const id = rulesOf(account)[0]?.id;
    const rules = [{ id, score_threshold: 25 }];
    await expectRefused(overrides({ rules }), 20131, `${at}/rules/0/score_threshold`);
  });

  test.each<[string, object, number, string]>([
    ["nothing", {}, 20141, ""],
    ["a ruleset other than current", { ruleset: "all" }, 20142, "/ruleset"],
    ["both all rulesets and one of them", { ruleset: "current", rulesets: [owasp] }, 20140, "/rulesets"],
    ["an unknown ruleset", { rulesets: [owasp, NONE] }, 20121, "/rulesets/1"],
    ["an empty list of rulesets", { rulesets: [] }, 20141, "/rulesets"],
    ["the same ruleset twice", { rulesets: [owasp, owasp] }, 20133, "/rulesets/1"],
    ["a rule from another ruleset", { rules: { [free]: [OWASP_SCORE_RULE] } }, 20129, `/rules/${free}/0`],
    ["an empty list of a ruleset's rules", { rules: { [owasp]: [] } }, 20141, `/rules/${owasp}`],
    ["rules without a ruleset", { rules: {} }, 20141, "/rules"],
    ["a phase", { phases: ["http_ratelimit"] }, 20142, "/phases/0"],
  ])("if it's an exception that skips %s", async (_, parameters, code, pointer) => {
    const rule = { action: "skip", action_parameters: parameters, expression: "true" };
    await expectRefused(rule, code, `/action_parameters${pointer}`);
  });

  test.each<[string, object, number, string]>([
    ["before a rule and at an index", { before: "", index: 1 }, 20160, ""],
    ["without before, after or index", {}, 20160, ""],
    ["before an unknown rule", { before: NONE }, 20161, "/before"],
    ["after an unknown rule", { after: NONE }, 20161, "/after"],
    ["at index 0", { index: 0 }, 20162, "/index"],
    ["at an index beyond the end", { index: 5 }, 20162, "/index"],
    ["with an unknown property", { first: true }, 10001, "/first"],
  ])("if it's placed %s", async (_, position, code, pointer) => {
    await expectRefused({ ...execute({}), position }, code, `/position${pointer}`);
  });

  test("if it's placed next to itself", async () => {
    const position = { after: seededRules.shop.managed };
    expect(await shop.change(seededRules.shop.managed, { position })).toMatchObject({
      status: 400,
      body: { errors: [{ code: 20161 }] },
    });
  });

  async function expectRefused(rule: object, code: number, pointer: string) {
    const before = result(await shop.read());
    const error = { code, source: { pointer } };
    const refusal = { status: 400, body: { success: false, result: null, errors: [error] } };
    expect(await shop.add(rule)).toMatchObject(refusal);
    expect(result(await shop.read())).toEqual(before);
    if (code === 20162) return; // An existing rule has one index less.

    expect(await shop.change(seededRules.shop.monitoring, rule)).toMatchObject(refusal);
    const inList = { ...refusal.body, errors: [{ code, source: { pointer: `/rules/0${pointer}` } }] };
    if (!("position" in rule) && !("ref" in rule)) {
      expect(await shop.put({ rules: [rule] })).toMatchObject({ ...refusal, body: inList });
    }
    expect(result(await shop.read())).toEqual(before);
  }
});

test.each([
  'http.host eq "a.example" and not ip.src in {10.0.0.0/8 2001:db8::/32 fe80::1}',
  '(http.request.uri.path matches r#"^/a"b$"# or lower(http.host) contains "x\\"y")',
  'any(http.request.headers["x-a"][*] eq "1") && ip.geoip.asnum == 64496',
  'ip.src in $office && cf.zone.plan eq "ENT"',
  "ssl",
])("accepts the expression %s", async (expression) => {
  expect((await new ZoneRulesets(api, api.zones.small).put({ rules: [expressed(expression)] })).status).toBe(
    200,
  );
});

test("reports all problems with a rule at once", async () => {
  const rules = [expressed(""), { ...overrides({}), expression: "(" }, { ...execute({}), id: NONE }];
  expect(await shop.put({ rules })).toMatchObject({
    status: 400,
    body: {
      errors: [
        { code: 20125, source: { pointer: "/rules/0/expression" } },
        { code: 20127, source: { pointer: "/rules/1/expression" } },
        { code: 20123, source: { pointer: "/rules/1/action_parameters/overrides" } },
        { code: 20152, source: { pointer: "/rules/2/id" } },
      ],
    },
  });
});

test("rejects two rules with the same ref or ID in one list", async () => {
  const [rule] = rulesOf(await shop.read());
  const twice = [
    { ...execute({}), ref: "same" },
    { ...execute({}), ref: "same" },
  ];
  expect((await shop.put({ rules: twice })).body).toMatchObject({
    errors: [{ code: 20150, source: { pointer: "/rules/1/ref" } }],
  });
  expect((await shop.put({ rules: [rule, { ...execute({}), id: rule?.id }] })).body).toMatchObject({
    errors: [{ code: 20153, source: { pointer: "/rules/1/id" } }],
  });
});

test.each([
  ["of another kind", { kind: "root" }, 20180],
  ["of another phase", { phase: "http_ratelimit" }, 50002],
  ["without a name", { name: "" }, 10001],
  ["with an unknown property", { source: "mine" }, 10001],
])("refuses to create a ruleset %s", async (_, members, code) => {
  const zone = new ZoneRulesets(api, api.zones.empty);
  expect(
    await zone.call("POST", zone.root, { name: "default", kind: "zone", phase: PHASE, ...members }),
  ).toMatchObject({
    status: 400,
    body: { errors: [{ code }] },
  });
  expect((await zone.read()).status).toBe(404);
});

test("refuses to change any part of a managed ruleset", async () => {
  const refused = { status: 400, body: { errors: [{ code: 20182 }] } };
  expect(await shop.call("POST", `${shop.root}/${owasp}/rules`, execute({}))).toMatchObject(refused);
  expect((await shop.call("GET", `${shop.root}/${owasp}`)).status).toBe(200);
});

test("a zone on the free plan can only execute the Free Managed Ruleset", async () => {
  const zone = new ZoneRulesets(api, api.zones.free);
  for (const id of [managed, owasp, exposedCredentials]) {
    expect(await zone.put({ rules: [execute({ id })] })).toMatchObject({
      status: 400,
      body: { errors: [{ code: 50002, source: { pointer: "/rules/0/action_parameters/id" } }] },
    });
  }
  expect((await zone.put({ rules: [execute({ id: free })] })).status).toBe(200);
});

test("rejects a rule above the limit of rules per zone", async () => {
  const small = await start({ limits: { maxZoneRules: 3 } });
  const zone = new ZoneRulesets(small, small.zones.shop);
  expect((await zone.add(execute({}))).body).toMatchObject({
    errors: [{ message: `exceeded the maximum number of rules in the phase ${PHASE}: 4 out of 3` }],
  });
});
